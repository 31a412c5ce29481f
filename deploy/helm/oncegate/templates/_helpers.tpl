{{- define "oncegate.selector" -}}
app.kubernetes.io/name: oncegate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "oncegate.labels" -}}
{{ include "oncegate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
