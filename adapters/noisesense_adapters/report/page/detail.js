"use strict";
// The detail of one sample. Every text enters the page through textContent, never as HTML.

const PACKED = 256; // as in samples.py
const packs = {};
const packsOf = (name) =>
  (packs[name] ??= document.getElementById(name).textContent.trim().split("\n").filter(Boolean));
/** The JSON lines of a pack, as texts. */
async function unpacked(name, pack) {
  const bytes = Uint8Array.from(atob(packsOf(name)[pack]), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return (await new Response(stream).text()).split("\n");
}
/** What the JSON lines of a block say, one after another. */
async function* each(name) {
  for (let pack = 0; pack < packsOf(name).length; pack++) {
    for (const text of await unpacked(name, pack)) yield JSON.parse(text);
  }
}
const recent = new Map();
/** Line i of a block of packed JSON lines. */
async function line(name, i) {
  const pack = Math.floor(i / PACKED);
  const key = `${name} ${pack}`;
  if (!recent.has(key)) recent.set(key, unpacked(name, pack));
  if (recent.size > 20) recent.delete(recent.keys().next().value);
  return JSON.parse((await (recent.get(key) ?? unpacked(name, pack)))[i % PACKED]);
}
/** An element: h("p", {class: "x"}, "text", child). */
function h(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
const hidden = (text) => h("span", { class: "hide" }, text);
const scroll = (label, child) =>
  h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, child);

const KIND = {
  correct: "correct",
  relevant: "relevant noise",
  irrelevant: "irrelevant noise",
  hallucination: "hallucination",
  undetermined: "undetermined",
};
const RELEVANCE = new Map([
  [true, ["rel.", "relevant", "relevant"]],
  [false, ["irr.", "irrelevant", "irrelevant"]],
  [null, ["?", "relevance undetermined", "open"]],
]);

/** A verdict: symbol, words for a screen reader, and the class that colors it. */
function verdict(claim, j, chunk) {
  if (claim.by.includes(j)) {
    if (claim.correct !== false) return ["✓", "entails it", claim.correct ? "supports" : "entails"];
    const [, words, kind] = RELEVANCE.get(chunk.relevant);
    return ["✗", `entails this claim, which the reference does not, ${words}`, `misleads ${kind}`];
  }
  if (claim.open.includes(j)) return ["?", "no verdict", "open"];
  return ["·", "does not entail it", "no"];
}
function cell([symbol, words, kind]) {
  return h("td", { class: `v ${kind}` }, h("span", { "aria-hidden": "true" }, symbol), hidden(words));
}
function correctness(claim) {
  if (claim.correct === null) return ["?", "no verdict whether the reference supports it", "open"];
  return claim.correct ? ["✓", "supported by the reference", "supports"] : ["✗", "not supported by the reference", "wrong"];
}
function claimHead(claim, i, name) {
  const text = claim.text || "recorded without its text";
  const head = h("th", { scope: "row" });
  const first = h("span", { class: "claim", dir: "auto" }, text);
  head.append(h("span", { class: "index" }, hidden(name), String(i)), first);
  if (claim.kind) {
    head.append(
      h("span", { class: `mark ${claim.kind}` }, KIND[claim.kind]),
      h("span", { class: "why" }, claim.sentence),
    );
  }
  return head;
}
function chunkHead(chunk, j) {
  const [short, words, kind] = RELEVANCE.get(chunk.relevant);
  return h(
    "th",
    { scope: "col", class: `chunk ${kind}` },
    hidden("chunk "),
    String(j),
    h("span", { class: "tag", "aria-hidden": "true" }, short),
    hidden(`, ${words}`),
  );
}
/** Claims × chunks: response claims first, then the reference claims that make chunks relevant. */
function matrix(detail) {
  const { claims, references, chunks } = detail;
  const columns = h("tr", null, h("th", { scope: "col" }, "Claim"), h("th", { scope: "col", class: "chunk" }, "ref.", hidden("erence")), ...chunks.map(chunkHead));
  const table = h(
    "table",
    { class: "matrix" },
    h("caption", null, `${count(claims.length, "response claim")} × ${count(chunks.length, "chunk")}`),
    h("thead", null, columns),
  );
  const body = h("tbody");
  claims.forEach((claim, i) => {
    const cells = chunks.map((chunk, j) => cell(verdict(claim, j, chunk)));
    body.append(h("tr", null, claimHead(claim, i, "claim "), cell(correctness(claim)), ...cells));
  });
  table.append(body);
  if (references.length) {
    const group = h("th", { scope: "rowgroup", colspan: String(chunks.length + 2), class: "group" }, "Claims of the reference: a chunk that entails one is relevant, unless a label says otherwise");
    const more = h("tbody", { class: "references" }, h("tr", null, group));
    references.forEach((claim, i) => {
      const cells = chunks.map((chunk, j) => cell(verdict({ ...claim, correct: true }, j, chunk)));
      more.append(h("tr", null, claimHead(claim, i, "reference claim "), h("td", { class: "v" }), ...cells));
    });
    table.append(more);
  }
  return table;
}
function legend() {
  const item = (kind, symbol, words) =>
    h("li", null, h("span", { class: `v ${kind}`, "aria-hidden": "true" }, symbol), words);
  return h(
    "ul",
    { class: "legend" },
    item("misleads relevant", "✗", "a relevant chunk entails a claim that the reference does not"),
    item("misleads irrelevant", "✗", "an irrelevant chunk entails a claim that the reference does not"),
    item("supports", "✓", "entails a claim that the reference supports"),
    item("entails", "✓", "entails any other claim"),
    item("wrong", "✗", "the reference does not entail it"),
    item("no", "·", "does not entail"),
    item("open", "?", "no verdict, or none needed"),
  );
}
function chunkText(chunk, j, alone) {
  const [, words, kind] = RELEVANCE.get(chunk.relevant);
  const text = chunk.text || "recorded without its text";
  return h(
    "details",
    { class: "text", open: alone ? "" : null },
    h(
      "summary",
      null,
      h("span", { class: "index" }, hidden("chunk "), String(j)),
      h("span", { class: `mark ${kind}` }, words + (chunk.labeled ? " (label)" : "")),
      chunk.id ? h("span", { class: "id", dir: "auto" }, chunk.id) : null,
      h("span", { class: "peek", dir: "auto", "aria-hidden": "true" }, text.slice(0, 160)),
    ),
    h("p", { dir: "auto" }, text),
  );
}
/** Named texts, without those that are not known. */
function pairs(named) {
  const known = named.filter(([, value]) => value);
  const parts = known.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", { dir: "auto" }, value)));
  return parts.length ? h("dl", { class: "texts" }, ...parts) : "";
}
/** A sentence in which each quotation keeps its own direction. */
const quoting = (text) =>
  text.split(/("[^"]*")/).map((part, i) => (i % 2 ? h("bdi", null, part) : part));
/** What a line of results says of a sample, as the matrix shows it. */
async function read(i) {
  const { verdicts, sample, ...rest } = await line("details", i);
  const claims = (list) =>
    (list ?? []).map((claim) => ({
      text: claim.text,
      correct: claim.correct ?? null,
      by: claim.entailed_by ?? [],
      open: claim.undetermined ?? [],
      kind: null,
      sentence: "",
    }));
  const response = claims(verdicts?.response_claims);
  response.forEach((claim, j) => {
    claim.kind = rest.kinds[j];
    claim.sentence = rest.sentences[j];
  });
  const texts = verdicts?.chunks ?? sample?.retrieved_contexts ?? [];
  const chunks = (rest.relevance ?? texts).map((_, j) => ({
    text: texts[j]?.text,
    id: texts[j]?.id,
    relevant: rest.relevance?.[j] ?? null,
    labeled: texts[j]?.relevant !== undefined && texts[j].relevant !== null,
  }));
  const { response: answer, reference } = sample ?? {};
  return { ...rest, claims: response, references: claims(verdicts?.reference_claims), chunks, response: answer, reference };
}
/** What the judge, asked once more, said of a claim. */
const CHANGED = {
  "left out": "Added to the claims",
  stray: "Dropped from the claims",
  "beside the question": "Beside the question, so dropped from the claims",
};
/** Everything known of one sample. */
async function detailOf(row, i) {
  const detail = await read(i);
  const parts = h("div", { class: "detail" });
  if (detail.error) parts.append(h("p", { class: "error", dir: "ltr" }, h("strong", null, "Failed: "), ...quoting(detail.error)));
  for (const reason of detail.reasons ?? []) parts.append(h("p", { class: "reason", dir: "ltr" }, ...quoting(reason)));
  if (detail.unanswered) {
    parts.append(h("p", { class: "reason" }, `The judge left ${count(detail.unanswered, "verdict")} unanswered.`));
  }
  for (const { text, of, change } of detail.changes ?? []) {
    parts.append(h("p", { class: "reason" }, `${CHANGED[change]} of the ${of}: `, h("q", { dir: "auto" }, text)));
  }
  parts.append(pairs([["Question", row.question]]));
  parts.append(pairs([["Response", detail.response], ["Reference", detail.reference]]));
  if (detail.claims?.length) parts.append(scroll(`Claims and chunks of ${row.id}`, matrix(detail)), legend());
  const { chunks } = detail;
  if (chunks.length) {
    const alone = chunks.length === 1;
    parts.append(h("h3", null, "Retrieved chunks"), ...chunks.map((chunk, j) => chunkText(chunk, j, alone)));
  }
  parts.append(pairs([["Judge", detail.judge], ["Cluster", detail.cluster]]));
  return parts;
}
function count(n, word) {
  return `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
}
