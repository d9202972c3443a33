"""/livez, /readyz and /metrics: for whoever keeps the server running."""

from typing import Any

from fastapi import APIRouter, Request
from prometheus_client.exposition import choose_encoder
from starlette.responses import Response

from graphkin.api.gate.openapi import problems, replies
from graphkin.api.gate.route import needing
from graphkin.api.state import state_of
from graphkin.protocol.replies import Health, Readiness

router = APIRouter(tags=["health"], route_class=needing(None))
operators = APIRouter(tags=["health"], route_class=needing("admin"))


@router.get("/livez", response_model=Health)
async def livez() -> dict[str, str]:
    """The process answers."""
    return {"status": "alive"}


@router.get("/readyz", response_model=Readiness, responses=problems(503))
def readyz(request: Request) -> dict[str, Any]:
    """Requests will be answered: the store can be read, no current generation is known to be damaged, kernels are
    compiled, and the sampler has its graph."""
    state = state_of(request)
    damaged = state["library"].require_ready()
    state["warmup"].require()
    return {"status": "ready", "damaged": damaged}


@operators.get("/metrics", response_class=Response, responses=replies("text/plain"))
def metrics(request: Request) -> Response:
    """Request counts and latencies, in Prometheus' text format; of all processes that serve here."""
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(request.app.state.metrics.view()), headers={"Content-Type": content_type})


router.routes.extend(operators.routes)
