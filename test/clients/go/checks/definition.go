package checks

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Group of the kinds that are defined.
const Group = "go.example.com"

// Definitions of kinds, and leases.
var (
	Definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	Leases      = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

const definition = `{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "spec": {
    "group": "go.example.com", "scope": "Namespaced",
    "versions": [{
      "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
          "size": {"type": "string", "default": "small"},
          "count": {"type": "integer", "minimum": 0}
        }},
        "status": {"type": "object", "properties": {
          "observedGeneration": {"type": "integer"}, "made": {"type": "integer"},
          "conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            "items": {"type": "object", "required": ["type", "status"], "properties": {
              "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"},
              "message": {"type": "string"}, "lastTransitionTime": {"type": "string", "format": "date-time"},
              "observedGeneration": {"type": "integer"}}}}
        }}
      }}}
    }]
  }
}`

// Define makes a kind, and resolves when the server serves it.
func Define(ctx context.Context, client dynamic.Interface, plural, kind string) schema.GroupVersionResource {
	Got(client.Resource(Definitions).Create(ctx, Definition(plural, kind), metav1.CreateOptions{}))
	return schema.GroupVersionResource{Group: Group, Version: "v1", Resource: plural}
}

// Definition of a kind.
func Definition(plural, kind string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	Must(json.Unmarshal([]byte(definition), object))
	object.SetName(plural + "." + Group)
	names := map[string]any{"plural": plural, "singular": plural[:len(plural)-1], "kind": kind, "listKind": kind + "List"}
	Must(unstructured.SetNestedField(object.Object, names, "spec", "names"))
	return object
}

// Object of a kind that was defined.
func Object(kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": Group + "/v1", "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": "default"}, "spec": spec,
	}}
}

// Lease held by somebody.
func Lease(name, holder string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"name": name, "namespace": "default"},
		"spec":     map[string]any{"holderIdentity": holder},
	}}
}
