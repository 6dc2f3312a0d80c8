package main

import (
	"context"
	"strings"
	"time"

	"coppice.dev/test/clients/checks"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/utils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

var fluxed = []checks.Check{
	{Name: "Flux: a set with its own namespace and definition is applied in stages, then unchanged", Try: appliesAll},
	{Name: "Flux: a diff tells what drifted, and an apply puts it back", Try: drift},
	{Name: "Flux: fields of kubectl are taken over", Try: takesOver},
	{Name: "Flux: an immutable object is made anew by force only", Try: immutable},
	{Name: "Flux: waits until what is applied is ready, and says of what is not", Try: waits},
	{Name: "Flux: deletes what it applied, and waits until it is gone", Try: deletes},
}

const manifests = `
apiVersion: v1
kind: Namespace
metadata: {name: flux-set}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot, namespace: flux-set}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: flux-set}
data: {key: value, other: value}
---
apiVersion: v1
kind: Secret
metadata: {name: password, namespace: flux-set}
immutable: true
stringData: {password: one}
---
apiVersion: go.example.com/v1
kind: Engine
metadata: {name: engine, namespace: flux-set}
spec: {count: 1}
`

func flux() *ssa.ResourceManager {
	config := checks.Dial().Config
	mapper := checks.Got(apiutil.NewDynamicRESTMapper(config, checks.Got(rest.HTTPClientFor(config))))
	through := checks.Got(client.New(config, client.Options{Mapper: mapper}))
	owner := ssa.Owner{Field: "flux", Group: "flux.example.com"}
	return ssa.NewResourceManager(through, polling.NewStatusPoller(through, mapper, polling.Options{}), owner)
}

func set() []*unstructured.Unstructured {
	objects := checks.Got(utils.ReadObjects(strings.NewReader(manifests)))
	return append(objects, checks.Definition("engines", "Engine"))
}

func pick(kind string) *unstructured.Unstructured {
	for _, object := range set() {
		if object.GetKind() == kind {
			return object
		}
	}
	panic("no " + kind)
}

// actions taken, by kind.
func actions(changes *ssa.ChangeSet) map[string]string {
	taken := map[string]string{}
	for _, entry := range changes.Entries {
		taken[entry.ObjMetadata.GroupKind.Kind] = string(entry.Action)
	}
	return taken
}

func allOf(action string) map[string]string {
	taken := map[string]string{}
	for _, object := range set() {
		taken[object.GetKind()] = action
	}
	return taken
}

func appliesAll(ctx context.Context) {
	manager := flux()
	for _, action := range []string{"created", "unchanged", "unchanged"} {
		objects := set()
		manager.SetOwnerLabels(objects, "app", ns)
		changes := checks.Got(manager.ApplyAllStaged(ctx, objects, ssa.DefaultApplyOptions()))
		checks.Equal(actions(changes), allOf(action))
	}
}

func drift(ctx context.Context) {
	manager := flux()
	key := client.ObjectKey{Namespace: "flux-set", Name: "settings"}
	drifted := pick("ConfigMap")
	checks.Must(manager.Client().Get(ctx, key, drifted))
	checks.Must(unstructured.SetNestedField(drifted.Object, "drifted", "data", "key"))
	checks.Must(manager.Client().Update(ctx, drifted, client.FieldOwner("somebody")))
	entry, existing, wanted, err := manager.Diff(ctx, pick("ConfigMap"), ssa.DefaultDiffOptions())
	checks.Must(err)
	value := func(object *unstructured.Unstructured) string {
		found, _, _ := unstructured.NestedString(object.Object, "data", "key")
		return found
	}
	checks.Equal([]string{string(entry.Action), value(existing), value(wanted)}, []string{"configured", "drifted", "value"})
	applied := checks.Got(manager.Apply(ctx, pick("ConfigMap"), ssa.DefaultApplyOptions()))
	checks.Equal(string(applied.Action), "configured")
	entry, _, _, err = manager.Diff(ctx, pick("ConfigMap"), ssa.DefaultDiffOptions())
	checks.Must(err)
	checks.Equal(string(entry.Action), "unchanged")
	less := pick("ConfigMap")
	unstructured.RemoveNestedField(less.Object, "data", "other")
	checks.Got(manager.Apply(ctx, less, ssa.DefaultApplyOptions()))
	checks.Must(manager.Client().Get(ctx, key, less))
	_, there, _ := unstructured.NestedString(less.Object, "data", "other")
	checks.Equal(there, false)
}

func takesOver(ctx context.Context) {
	manager := flux()
	engines := dynamic.NewForConfigOrDie(checks.Dial().Config)
	resource := engines.Resource(checks.Leases.GroupVersion().WithResource("leases")).Namespace("flux-set")
	byHand := checks.Lease("taken", "kubectl")
	byHand.SetNamespace("flux-set")
	checks.Got(resource.Create(ctx, byHand, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"}))
	checks.Got(resource.Patch(ctx, "taken", types.MergePatchType, []byte(`{"metadata":{"labels":{"by":"hand"}}}`), metav1.PatchOptions{FieldManager: "kubectl-label"}))
	options := ssa.DefaultApplyOptions()
	options.Cleanup = ssa.ApplyCleanupOptions{FieldManagers: []ssa.FieldManager{{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate}}}
	mine := checks.Lease("taken", "flux")
	mine.SetNamespace("flux-set")
	checks.Equal(string(checks.Got(manager.Apply(ctx, mine, options)).Action), "configured")
	taken := checks.Got(resource.Get(ctx, "taken", metav1.GetOptions{}))
	owners := map[string]string{}
	for _, entry := range taken.GetManagedFields() {
		owners[entry.Manager] = string(entry.Operation)
	}
	checks.Equal([]any{owners, len(taken.GetLabels())}, []any{map[string]string{"flux": "Apply"}, 0})
}

func immutable(ctx context.Context) {
	manager := flux()
	changed := func() *unstructured.Unstructured {
		secret := pick("Secret")
		checks.Must(unstructured.SetNestedField(secret.Object, "two", "stringData", "password"))
		return secret
	}
	_, err := manager.Apply(ctx, changed(), ssa.DefaultApplyOptions())
	checks.That("it is refused as immutable", err != nil && strings.Contains(err.Error(), "immutable"))
	options := ssa.DefaultApplyOptions()
	options.Force = true
	checks.Equal(string(checks.Got(manager.Apply(ctx, changed(), options)).Action), "created")
}

func waits(ctx context.Context) {
	manager := flux()
	options := ssa.WaitOptions{Interval: 100 * time.Millisecond, Timeout: 10 * time.Second}
	checks.Must(manager.Wait(set(), options))
	engine := pick("Engine")
	checks.Must(manager.Client().Get(ctx, client.ObjectKeyFromObject(engine), engine))
	condition := func(status string) {
		before := engine.DeepCopy()
		conditions := []any{map[string]any{"type": "Ready", "status": status, "observedGeneration": int64(1), "reason": "Tested", "message": "it is " + status}}
		checks.Must(unstructured.SetNestedSlice(engine.Object, conditions, "status", "conditions"))
		checks.Must(unstructured.SetNestedField(engine.Object, engine.GetGeneration(), "status", "observedGeneration"))
		checks.Must(manager.Client().Status().Patch(ctx, engine, client.MergeFrom(before)))
	}
	condition("False")
	options.Timeout = time.Second
	err := manager.Wait(set(), options)
	checks.That("it says what is not ready", err != nil && strings.Contains(err.Error(), "Engine/flux-set/engine"))
	condition("True")
	options.Timeout = 10 * time.Second
	checks.Must(manager.Wait(set(), options))
}

func deletes(ctx context.Context) {
	manager := flux()
	objects := set()
	options := ssa.DefaultDeleteOptions()
	options.Inclusions = manager.GetOwnerLabels("app", ns)
	// What was applied again since without the labels of its owner is left; it goes with its namespace.
	wanted := allOf("deleted")
	wanted["ConfigMap"], wanted["Secret"] = "skipped", "skipped"
	checks.Equal(actions(checks.Got(manager.DeleteAll(ctx, objects, options))), wanted)
	checks.Must(manager.WaitForTermination(objects, ssa.WaitOptions{Interval: 100 * time.Millisecond, Timeout: 20 * time.Second}))
}
