"""OpenTelemetry traces with one span per request. The environment variables OTEL_… configure their export."""

from typing import Any

from starlette.middleware import Middleware

from graphkin.protocol.errors import InvalidInput, install_hint

_QUERY = "url.query"


class Traces:
    """Tracing of one application. `close` exports the remaining spans.

    Attributes:
        middleware: Middleware that creates the spans.

    Raises:
        InvalidInput: The extra `telemetry` is not installed.
    """

    def __init__(self) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
            from opentelemetry.sdk.trace import Span, SpanProcessor, TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            from starlette.middleware.opentelemetry import OpenTelemetryMiddleware
        except ImportError as error:
            raise InvalidInput(
                f"traces need the package {error.name}, which is not installed",
                given=str(error.name),
                expected="the packages of the extra telemetry",
                hint=install_hint("telemetry") + "; or unset GRAPHKIN_TELEMETRY",
            ) from error

        class QueryRedactor(SpanProcessor):
            """Removes the query string from spans, because it may contain structures."""

            def on_start(self, span: Span, parent_context: Any = None) -> None:  # noqa: ARG002 - SpanProcessor defines the signature
                if span.attributes and _QUERY in span.attributes:
                    span.set_attribute(_QUERY, "REDACTED")

        resource = Resource({SERVICE_NAME: "graphkin"}).merge(OTELResourceDetector().detect())
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(QueryRedactor())
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self.middleware = Middleware(OpenTelemetryMiddleware, tracer_provider=self._provider)

    def close(self) -> None:
        self._provider.shutdown()
