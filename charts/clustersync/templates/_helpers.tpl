{{- define "clustersync.name" -}}
{{- if contains "clustersync" .Release.Name -}}
{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-clustersync" .Release.Name | trunc 52 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "clustersync.selectorLabels" -}}
app.kubernetes.io/name: clustersync
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "clustersync.testLabels" -}}
app.kubernetes.io/name: clustersync
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: test
{{- end }}

{{- define "clustersync.labels" -}}
{{ include "clustersync.selectorLabels" . }}
{{ include "clustersync.releaseLabels" . }}
{{- end }}

{{- define "clustersync.releaseLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* The labels of an object with labels of its own: (list $ labels). */ -}}
{{- define "clustersync.labelsWith" -}}
{{- $own := include "clustersync.labels" (index . 0) | fromYaml -}}
{{- merge $own (index . 1) | toYaml -}}
{{- end }}

{{- define "clustersync.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "clustersync.name" .) .Values.serviceAccount.name }}
{{- else -}}
{{ required "serviceAccount.name is required if serviceAccount.create is false" .Values.serviceAccount.name }}
{{- end -}}
{{- end }}

{{- define "clustersync.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end }}

{{- /* Where the runbook of an alert is: (list $ page). */ -}}
{{- define "clustersync.runbook" -}}
{{- $values := (index . 0).Values -}}
{{- $page := index . 1 -}}
{{- if $values.metrics.prometheusRule.runbookUrl -}}
runbook_url: {{ printf "%s/%s" $values.metrics.prometheusRule.runbookUrl $page | quote }}
{{- else if $values.docsUrl -}}
runbook_url: {{ replace "{page}" (printf "runbooks/%s" (trimSuffix ".md" $page)) $values.docsUrl | quote }}
{{- else -}}
runbook: docs/runbooks/{{ $page }}
{{- end -}}
{{- end }}

{{- /* Whether the dashboard can be reached over the network: something or nothing. */ -}}
{{- define "clustersync.hasDashboardService" -}}
{{- if and .Values.dashboard.enabled .Values.dashboard.tokenSecret -}}
yes
{{- end -}}
{{- end }}

{{- /* What the Pod Security Standard "restricted" asks for. */ -}}
{{- define "clustersync.podSecurityContext" -}}
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "clustersync.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* How the image is had, and on which nodes. */ -}}
{{- define "clustersync.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* What the operator may do in the namespaces that it looks after; README.md gives the reason for each rule. */ -}}
{{- define "clustersync.namespacedRules" -}}
- apiGroups: [clustersync.dev]
  resources: [clustersyncs, syncverifications]
  verbs: [list, watch]
- apiGroups: [clustersync.dev]
  resources: [clustersyncs]
  verbs: [patch]
- apiGroups: [clustersync.dev]
  resources: [syncverifications]
  verbs: [delete]
- apiGroups: [clustersync.dev]
  resources: [clustersyncs/status, syncverifications/status]
  verbs: [patch]
- apiGroups: [clustersync.dev]
  resources: [clustersyncs/finalizers, syncverifications/finalizers]
  verbs: [update]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: ['']
  resources: [services]
  verbs: [get, list, watch, create, patch]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch]
- apiGroups: ['']
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [apps]
  resources: [deployments/scale, statefulsets/scale]
  verbs: [get, update]
- apiGroups: ['']
  resources: [secrets, configmaps]
  verbs: [get]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [list, create, patch]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [operator.clustersync.dev]
  verbs: [get, create, update]
{{- if .Values.replaceLostPods.enabled }}
- apiGroups: ['']
  resources: [pods]
  verbs: [delete]
{{- end }}
{{- end }}

{{- /*
Whether a pod has in a field of its spec only what operandPodFields allows, in CEL. A list of operandPodFields, the field, and the values
that it may always have.
*/ -}}
{{- define "clustersync.podField" }}
{{- $fields := index . 0 }}
{{- $field := index . 1 }}
{{- $values := slice . 2 }}
{{- $prefix := printf "spec.%s=" $field }}
{{- range $fields }}
{{- if hasPrefix $prefix . }}
{{- $values = append $values (trimPrefix $prefix .) }}
{{- end }}
{{- end }}
{{- if has (printf "spec.%s" $field) $fields }}true
{{- else if $values }}(!has(variables.pod.{{ $field }}) || variables.pod.{{ $field }} in ['{{ join "', '" $values }}'])
{{- else }}!has(variables.pod.{{ $field }})
{{- end }}
{{- end }}
