"""/livez, /readyz and /metrics: health checks and metrics for operators."""

from fastapi import APIRouter, Request
from prometheus_client.exposition import choose_encoder
from starlette.responses import Response

from graphkin.api.http.openapi import problems, replies
from graphkin.api.http.route import with_access
from graphkin.api.state import state_of
from graphkin.protocol.replies import Health

router = APIRouter(tags=["health"], route_class=with_access(None))
operators = APIRouter(tags=["health"], route_class=with_access("admin"))


@router.get("/livez", response_model=Health)
async def livez() -> dict[str, str]:
    """The server process responds."""
    return {"status": "alive"}


@router.get("/readyz", response_model=Health, responses=problems(500, 503))
def readyz(request: Request) -> dict[str, str]:
    """The server can answer requests: the store is readable, kernels are compiled, and the sampler has its graph.

    A damaged collection does not make the server unready: `GET /v1/collections` and /metrics name it.
    """
    state = state_of(request)
    state["generations"].require_ready()
    state["warmup"].require()
    return {"status": "ready"}


@operators.get("/metrics", response_class=Response, responses=replies("text/plain"))
def metrics(request: Request) -> Response:
    """Request counts and latencies, in Prometheus' text format; of all processes that serve here."""
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(request.app.state.metrics.view()), headers={"Content-Type": content_type})


router.routes.extend(operators.routes)
