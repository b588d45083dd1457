"use strict";
// The table of samples: sorted, filtered, and only the visible page of it built.

(async () => {
  document.getElementById("without-scripts").remove();
  const table = document.getElementById("table");
  table.setAttribute("aria-busy", "true");
  const PAGE = 25;
  const PRINTED = 1000;
  const rows = [];
  for await (const row of each("rows")) rows.push(row);
  const body = table.tBodies[0];
  const heads = [...document.querySelectorAll("#table th[data-sort]")];
  const find = document.getElementById("find");
  const show = document.getElementById("show");
  const sorting = { by: "both", down: true };
  const opened = new Set();
  let found = [];
  let page = 0;
  let claims = null;

  const MODES = ["relevant", "irrelevant"];
  /** The lowest that a mode's value can be; null: undefined. */
  const low = (row, mode) => row.bounds?.[mode]?.[0] ?? null;
  const isOpen = (row, mode) => row.bounds?.[mode] && row.bounds[mode][0] < row.bounds[mode][1];
  const sum = (row, ...kinds) => (row.partition ? kinds.reduce((n, kind) => n + row.partition[kind], 0) : null);
  const noise = (row) => sum(row, ...MODES) ?? 0;
  /** The share of the claims that come from chunks and not from the reference; null: undefined. */
  const both = (row) => (MODES.every((mode) => low(row, mode) === null) ? null : noise(row) / (all(row) || 1));
  /** How many claims the reference does not support, and how many there are; null: failed. */
  const wrong = (row) => sum(row, ...MODES, "hallucination");
  const all = (row) => sum(row, ...Object.keys(KIND));
  const TEST = {
    all: () => true,
    noise: (row) => noise(row) > 0,
    relevant: (row) => sum(row, "relevant") > 0,
    irrelevant: (row) => sum(row, "irrelevant") > 0,
    hallucination: (row) => sum(row, "hallucination") > 0,
    undetermined: (row) => sum(row, "undetermined") > 0 || MODES.some((mode) => isOpen(row, mode)),
    changed: (row) => row.changed,
    failed: (row) => !row.partition || MODES.every((mode) => low(row, mode) === null),
  };

  /** What the search looks through; the claims are read when somebody searches. */
  async function haystacks() {
    const texts = [];
    for await (const detail of each("details")) {
      const row = rows[texts.length];
      const stated = (detail.verdicts?.response_claims ?? []).map((claim) => claim.text);
      texts.push([row.id, row.question ?? "", ...stated].join("\n").toLowerCase());
    }
    return texts;
  }
  function key(row) {
    if (sorting.by === "id") return row.id;
    if (sorting.by === "both") return both(row);
    return sorting.by === "wrong" ? wrong(row) : low(row, sorting.by);
  }
  const byName = new Intl.Collator("en", { numeric: true }).compare;
  function order(a, b) {
    const [x, y] = [key(rows[a]), key(rows[b])];
    if (x === null || y === null) return (x === null) - (y === null) || a - b; // unknown: last
    const sign = typeof x === "string" ? byName(x, y) : x - y;
    return (sorting.down ? -sign : sign) || noise(rows[b]) - noise(rows[a]) || a - b;
  }
  async function refresh() {
    const wanted = find.value.trim().toLowerCase();
    if (wanted) {
      claims ??= haystacks();
      const texts = await claims;
      if (wanted !== find.value.trim().toLowerCase()) return; // typed on meanwhile
      found = rows.map((_, i) => i).filter((i) => texts[i].includes(wanted));
    } else {
      found = rows.map((_, i) => i);
    }
    const fits = TEST[show.value];
    found = found.filter((i) => fits(rows[i]));
    found.sort(order);
    page = 0;
    render();
  }

  function value(row, mode) {
    const td = h("td", { class: "n" });
    if (!row.partition) return h("td", { class: "n none" }, mode === "relevant" ? "failed" : "");
    if (!row.bounds[mode]) return h("td", { class: "n none" }, "undefined");
    const [least, most] = row.bounds[mode];
    if (isOpen(row, mode)) td.append(h("span", { class: "range" }, `${least.toFixed(2)} to ${most.toFixed(2)}`), h("small", null, "undetermined"));
    else td.append(least.toFixed(2));
    const bar = h("span", { class: `share ${mode}`, "aria-hidden": "true" });
    bar.style.setProperty("--share", least);
    bar.style.setProperty("--most", most);
    td.append(bar);
    return td;
  }
  /** An id; one made from the content by its first characters. */
  const shortId = (id) => (/^[0-9a-f]{64}$/.test(id) ? `${id.slice(0, 12)}…` : id);
  function rowOf(i) {
    const row = rows[i];
    const button = h("button", { type: "button", class: "opener", "aria-expanded": "false", dir: "auto" }, row.question || shortId(row.id));
    const name = h("th", { scope: "row" }, button);
    if (row.question) name.append(h("span", { class: "question", dir: "auto" }, shortId(row.id)));
    const claims = h("td", { class: "n claims" }, row.partition ? `${wrong(row)} of ${all(row)}` : "");
    const tr = h("tr", { "data-row": String(i) }, name, value(row, "relevant"), value(row, "irrelevant"), claims);
    tr.addEventListener("click", () => {
      if (!String(getSelection())) toggle(tr, button, i); // else a text was marked
    });
    if (opened.has(i)) queueMicrotask(() => open(tr, button, i));
    return tr;
  }
  async function open(tr, button, i) {
    const id = `detail-${i}`;
    opened.add(i);
    const detail = await detailOf(rows[i], i);
    // Closed, or the page turned, meanwhile.
    if (!opened.has(i) || !tr.isConnected || document.getElementById(id)) return;
    tr.after(h("tr", { class: "opened", id }, h("td", { colspan: String(heads.length) }, detail)));
    button.setAttribute("aria-expanded", "true");
    button.setAttribute("aria-controls", id);
  }
  function toggle(tr, button, i) {
    if (!opened.delete(i)) {
      open(tr, button, i);
      return;
    }
    document.getElementById(`detail-${i}`)?.remove();
    button.setAttribute("aria-expanded", "false");
    button.removeAttribute("aria-controls");
  }

  function render(first = page * PAGE, most = PAGE) {
    const visible = found.slice(first, first + most);
    body.replaceChildren(...visible.map(rowOf));
    if (!visible.length) body.append(h("tr", null, h("td", { colspan: String(heads.length), class: "none" }, "No sample matches.")));
    const last = first + visible.length;
    const [from, to, all] = [first + 1, last, found.length].map((n) => n.toLocaleString("en"));
    document.getElementById("status").textContent = visible.length ? `${from} to ${to} of ${all}` : "none";
    document.getElementById("back").disabled = page === 0;
    document.getElementById("next").disabled = last >= found.length;
    for (const head of heads) {
      const here = head.dataset.sort === sorting.by;
      if (here) head.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  }
  function turn(by) {
    page += by;
    render();
    document.getElementById("samples").scrollIntoView();
  }
  /** Show the sample of that id, opened, whatever was searched for before. */
  function reveal(id) {
    const i = rows.findIndex((row) => row.id === id);
    if (i < 0) return;
    find.value = "";
    show.value = "all";
    refresh();
    page = Math.floor(found.indexOf(i) / PAGE);
    opened.add(i);
    render();
    const button = body.querySelector(`[data-row="${i}"] button`);
    button.scrollIntoView({ block: "start" });
    button.focus({ preventScroll: true });
  }

  /** A cell of a CSV; a text that a spreadsheet would take for a formula gets a quote in front. */
  function cell(value) {
    const text = String(value ?? "");
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }
  /** The samples that the table shows, on all its pages. */
  function save() {
    const lines = [["id", "question", "relevant_low", "relevant_high", "irrelevant_low", "irrelevant_high", "claims", "not_supported"]];
    for (const row of found.map((i) => rows[i])) {
      const ends = MODES.flatMap((mode) => row.bounds?.[mode] ?? ["", ""]);
      lines.push([row.id, row.question, ...ends, all(row), wrong(row)]);
    }
    const text = lines.map((line) => line.map(cell).join(",")).join("\r\n");
    const link = h("a", { download: "samples.csv", href: URL.createObjectURL(new Blob([`${text}\r\n`], { type: "text/csv" })) });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  for (const head of heads) {
    head.querySelector("button").addEventListener("click", () => {
      const by = head.dataset.sort;
      sorting.down = by === sorting.by ? !sorting.down : by !== "id";
      sorting.by = by;
      refresh();
    });
  }
  let waiting;
  find.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 150);
  });
  show.addEventListener("change", refresh);
  find.form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("save").addEventListener("click", save);
  document.getElementById("back").addEventListener("click", () => turn(-1));
  document.getElementById("next").addEventListener("click", () => turn(1));
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button[data-sample]");
    if (button) reveal(button.dataset.sample);
  });
  // On paper, all that is selected, or as much as a browser can lay out: the line below says so.
  window.addEventListener("beforeprint", () => render(0, PRINTED));
  window.addEventListener("afterprint", () => render());
  await refresh();
  table.removeAttribute("aria-busy");
})();
