// What an operator loads with `--import`: OpenTelemetry's own SDK, which sends spans to OTEL_EXPORTER_OTLP_ENDPOINT.
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'

const processor = new BatchSpanProcessor(new OTLPTraceExporter(), {
  scheduledDelayMillis: Number(process.env.OTEL_BSP_SCHEDULE_DELAY ?? 50),
})
new NodeTracerProvider({ spanProcessors: [processor] }).register()
