{{- define "windowpane.name" -}}
{{- if contains "windowpane" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-windowpane{{ end }}
{{- end }}

{{- define "windowpane.selector" -}}
app.kubernetes.io/name: windowpane
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "windowpane.labels" -}}
{{ include "windowpane.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "windowpane.config" -}}
{{- $config := deepCopy .Values.config }}
{{- if .Values.persistence.enabled }}
{{- $disk := dict "type" "lmdb" "path" "/var/lib/windowpane/panes" "size" .Values.persistence.storeSize }}
{{- $_ := set $config "stores" (merge (dict "disk" $disk) (default dict $config.stores)) }}
{{- range $backend := $config.backends }}
{{- if not $backend.store }}{{ $_ := set $backend "store" "disk" }}{{ end }}
{{- end }}
{{- end }}
{{- toYaml $config }}
{{- end }}
