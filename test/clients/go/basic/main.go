// What every client in Go is built on, without the API types, which take minutes to compile.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"

	"coppice.dev/test/clients/checks"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

const ns = "default"

func main() {
	wire := checks.Dial()
	client := dynamic.NewForConfigOrDie(wire.Config)
	checks.Run(
		checks.Check{Name: "objects of a defined kind: made, changed, refused, deleted", Try: func(ctx context.Context) { objects(ctx, client) }},
		checks.Check{Name: "applies: owners, a conflict, force", Try: func(ctx context.Context) { applies(ctx, client) }},
		checks.Check{Name: "a watch from a version tells each change after it once", Try: func(ctx context.Context) { watches(ctx, client) }},
		checks.Check{Name: "metadata alone, listed and watched", Try: func(ctx context.Context) { metadataOnly(ctx, wire, client) }},
		checks.Check{Name: "an informer over resets, restarts and 410 ends with what is stored", Try: func(ctx context.Context) { informs(ctx, wire, client) }},
	)
}

func objects(ctx context.Context, client dynamic.Interface) {
	cogs := client.Resource(checks.Define(ctx, client, "cogs", "Cog")).Namespace(ns)
	made := checks.Got(cogs.Create(ctx, checks.Object("Cog", "c1", map[string]any{"count": int64(1)}), metav1.CreateOptions{FieldValidation: "Strict"}))
	checks.Equal(made.Object["spec"], map[string]any{"count": int64(1), "size": "small"})
	_, err := cogs.Create(ctx, checks.Object("Cog", "c1", nil), metav1.CreateOptions{})
	checks.That("made twice is AlreadyExists", apierrors.IsAlreadyExists(err))
	_, err = cogs.Create(ctx, checks.Object("Cog", "bad", map[string]any{"count": int64(-1)}), metav1.CreateOptions{})
	checks.That("a count below 0 is Invalid", apierrors.IsInvalid(err))
	_, err = cogs.Create(ctx, checks.Object("Cog", "bad", map[string]any{"x": "y"}), metav1.CreateOptions{FieldValidation: "Strict"})
	checks.That("an unknown field is a BadRequest", apierrors.IsBadRequest(err))

	changed := made.DeepCopy()
	checks.Must(unstructured.SetNestedField(changed.Object, int64(2), "spec", "count"))
	changed = checks.Got(cogs.Update(ctx, changed, metav1.UpdateOptions{}))
	checks.Equal(changed.GetGeneration(), int64(2))
	_, err = cogs.Update(ctx, made, metav1.UpdateOptions{})
	checks.That("an old object is a Conflict", apierrors.IsConflict(err))
	checks.Must(unstructured.SetNestedField(changed.Object, int64(7), "status", "made"))
	changed = checks.Got(cogs.UpdateStatus(ctx, changed, metav1.UpdateOptions{}))
	checks.Equal([]any{changed.GetGeneration(), changed.Object["status"]}, []any{int64(2), map[string]any{"made": int64(7)}})

	stale := made.GetResourceVersion()
	err = cogs.Delete(ctx, "c1", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &stale}})
	checks.That("a deletion of an old version is a Conflict", apierrors.IsConflict(err))
	uid := made.GetUID()
	checks.Must(cogs.Delete(ctx, "c1", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}))
	_, err = cogs.Get(ctx, "c1", metav1.GetOptions{})
	checks.That("what was deleted is NotFound", apierrors.IsNotFound(err))
}

func applies(ctx context.Context, client dynamic.Interface) {
	leases := client.Resource(checks.Leases).Namespace(ns)
	apply := func(holder, manager string, force bool) (*unstructured.Unstructured, error) {
		return leases.Apply(ctx, "applied", checks.Lease("applied", holder), metav1.ApplyOptions{FieldManager: manager, Force: force})
	}
	first := checks.Got(apply("a", "one", false))
	checks.Equal(checks.Got(apply("a", "one", false)).GetResourceVersion(), first.GetResourceVersion())
	_, err := apply("b", "two", false)
	checks.That("another's field is a Conflict", apierrors.IsConflict(err))
	checks.Equal(err.Error(), `Apply failed with 1 conflict: conflict with "one": .spec.holderIdentity`)
	taken := checks.Got(apply("b", "two", true))
	owners := []string{}
	for _, entry := range taken.GetManagedFields() {
		owners = append(owners, entry.Manager)
	}
	checks.Equal(owners, []string{"two"})
}

func watches(ctx context.Context, client dynamic.Interface) {
	leases := client.Resource(checks.Leases).Namespace(ns)
	since := checks.Got(leases.Create(ctx, checks.Lease("w0", "a"), metav1.CreateOptions{}))
	checks.Got(leases.Create(ctx, checks.Lease("w1", "a"), metav1.CreateOptions{}))
	checks.Got(leases.Patch(ctx, "w1", types.MergePatchType, []byte(`{"spec":{"holderIdentity":"b"}}`), metav1.PatchOptions{}))
	checks.Must(leases.Delete(ctx, "w1", metav1.DeleteOptions{}))
	seconds := int64(1)
	stream := checks.Got(leases.Watch(ctx, metav1.ListOptions{ResourceVersion: since.GetResourceVersion(), TimeoutSeconds: &seconds}))
	told := []string{}
	for event := range stream.ResultChan() {
		told = append(told, fmt.Sprintf("%s %s", event.Type, event.Object.(*unstructured.Unstructured).GetName()))
	}
	checks.Equal(told, []string{"ADDED w1", "MODIFIED w1", "DELETED w1"})
}

func metadataOnly(ctx context.Context, wire *checks.Wire, client dynamic.Interface) {
	meta := metadata.NewForConfigOrDie(wire.Config).Resource(checks.Leases).Namespace(ns)
	checks.Got(client.Resource(checks.Leases).Namespace(ns).Create(ctx, checks.Lease("m0", "a"), metav1.CreateOptions{}))
	list := checks.Got(meta.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=m0"}))
	checks.Equal([]string{list.Items[0].Kind, list.Items[0].Name}, []string{"PartialObjectMetadata", "m0"})
	stream := checks.Got(meta.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion}))
	defer stream.Stop()
	checks.Got(meta.Patch(ctx, "m0", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}))
	event := <-stream.ResultChan()
	checks.Equal(event.Object.(*metav1.PartialObjectMetadata).Labels, map[string]string{"a": "b"})
}

// Whether lists come as streams is for KUBE_FEATURE_WatchListClient to say.
func informs(ctx context.Context, wire *checks.Wire, client dynamic.Interface) {
	other := checks.Dial()
	leases := dynamic.NewForConfigOrDie(other.Config).Resource(checks.Leases).Namespace(ns)
	followed := client.Resource(checks.Leases).Namespace(ns)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return followed.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return followed.Watch(ctx, options)
		},
	}
	streams := func() int { return wire.Asked("/leases?", "sendInitialEvents=true") }
	pages := func() int { return wire.Asked("GET", "/leases?") - wire.Asked("GET", "/leases?", "watch=true") }
	streamed, paged := streams(), pages()
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(lw, client), &unstructured.Unstructured{}, 0, cache.Indexers{})
	follower := checks.Follow(informer)
	stop := make(chan struct{})
	defer close(stop)
	go informer.Run(stop)

	stored := func() map[string]string {
		versions := map[string]string{}
		for _, item := range checks.Got(leases.List(ctx, metav1.ListOptions{})).Items {
			versions[item.GetName()] = item.GetResourceVersion()
		}
		return versions
	}
	settled := func() {
		checks.Until("the informer has what is stored", func() bool { return maps.Equal(checks.Versions(informer), stored()) })
		checks.Until("so have its events", func() bool { return maps.Equal(follower.Sum(), stored()) })
		checks.Equal(follower.Faults(), []string(nil))
	}
	settled()
	change := func(round string) {
		checks.Got(leases.Create(ctx, checks.Lease("i-"+round, "a"), metav1.CreateOptions{}))
		checks.Got(leases.Patch(ctx, "w0", types.MergePatchType, []byte(`{"spec":{"holderIdentity":"`+round+`"}}`), metav1.PatchOptions{}))
	}
	for round, breaks := range []func(){wire.Cut, checks.Restart, wire.Cut, checks.Restart} {
		before := follower.Told()
		change(fmt.Sprintf("a%d", round))
		breaks()
		change(fmt.Sprintf("b%d", round))
		settled()
		checks.Equal(follower.Told()-before, 4)
	}
	lists := func() int { return streams() + pages() - streamed - paged }
	checks.Equal(lists(), 1)
	wire.Without(func() {
		change("missed")
		checks.Must(leases.Delete(ctx, "i-a0", metav1.DeleteOptions{}))
		checks.Forget()
	})
	change("after")
	settled()
	checks.That("it has listed again", lists() > 1)
	if os.Getenv("KUBE_FEATURE_WatchListClient") == "false" {
		checks.Equal(streams(), streamed)
	} else {
		checks.Equal(pages(), paged)
	}
}
