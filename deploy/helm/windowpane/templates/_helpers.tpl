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

{{- define "windowpane.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "windowpane.name" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{- define "windowpane.port" -}}
{{- $port := regexFind "[0-9]+$" . }}
{{- if not $port }}{{ fail (printf "%q has no port: the chart needs addresses such as 0.0.0.0:9191" .) }}{{ end }}
{{- $port }}
{{- end }}

{{/* Names and ports of all listeners, one "name port" per line: ports follow the configuration. */}}
{{- define "windowpane.listeners" -}}
http {{ include "windowpane.port" .Values.config.listen }}
admin {{ include "windowpane.port" .Values.config.admin.listen }}
{{- range $name, $backend := .Values.config.backends }}
{{- with $backend.listen }}
{{ printf "b-%s" $name | lower | replace "_" "-" | trunc 15 | trimSuffix "-" }} {{ include "windowpane.port" . }}
{{- end }}
{{- end }}
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
