"""HTTP clients that time out when the scripted server says so, and never by the clock.

A request that the server leaves unanswered ends, for the client, with a timeout. Which one that is
must not depend on how busy the machine is: with a short timeout a sound reply may come too late.
So the client tells the server that it times out on demand, gets a mark in place of the silence and
raises what its clock would have raised.
"""

from __future__ import annotations

from typing import Any

import httpx

from noisesense_adapters.openai.client import ChatClient

ON_DEMAND = "x-timeouts-on-demand"
"""The header of a request that can be told to time out."""
MARK = 598
"""The status of a reply that stands for none."""


class _Async(httpx.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers[ON_DEMAND] = "yes"
        response = await super().handle_async_request(request)
        if response.status_code != MARK:
            return response
        await response.aclose()
        raise httpx.ReadTimeout("the server says so", request=request)


class _Blocking(httpx.HTTPTransport):
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.headers[ON_DEMAND] = "yes"
        response = super().handle_request(request)
        if response.status_code != MARK:
            return response
        response.close()
        raise httpx.ReadTimeout("the server says so", request=request)


class ChatClientOnDemand(ChatClient):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._headers()[ON_DEMAND] = "yes"

    def _post(self, *args: Any) -> bytes:
        try:
            return super()._post(*args)
        except Exception as error:
            if getattr(error, "status_code", None) == MARK:
                raise TimeoutError from None
            raise


def async_client() -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=_Async())


def clients() -> dict[str, Any]:
    """An asynchronous and a blocking one, by the names under which ChatOpenAI takes them."""
    return {
        "http_async_client": async_client(),
        "http_client": httpx.Client(transport=_Blocking()),
    }
