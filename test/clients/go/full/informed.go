package main

import (
	"context"
	"fmt"
	"maps"

	"coppice.dev/test/clients/checks"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

var informed = []checks.Check{
	{Name: "informers: a factory of typed and one of defined kinds, over resets, restarts and 410", Try: factories},
	{Name: "watches: one that retries goes on over a restart", Try: retries},
}

func factories(ctx context.Context) {
	wire, other := checks.Dial(), checks.Dial()
	gears := checks.Define(ctx, dynamic.NewForConfigOrDie(other.Config), "gears", "Gear")
	typed := informers.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(wire.Config), 0, informers.WithNamespace(ns))
	defined := dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(wire.Config), 0, ns, nil)
	followed := []cache.SharedIndexInformer{typed.Core().V1().ConfigMaps().Informer(), defined.ForResource(gears).Informer()}
	followers := []*checks.Follower{checks.Follow(followed[0]), checks.Follow(followed[1])}
	running, stop := context.WithCancel(ctx)
	defer typed.Shutdown()
	defer stop()
	typed.Start(running.Done())
	defined.Start(running.Done())
	checks.That("both have listed", cache.WaitForCacheSync(running.Done(), followed[0].HasSynced, followed[1].HasSynced))

	maps1 := kubernetes.NewForConfigOrDie(other.Config).CoreV1().ConfigMaps(ns)
	objects := dynamic.NewForConfigOrDie(other.Config).Resource(gears).Namespace(ns)
	stored := func() []map[string]string {
		versions := []map[string]string{{}, {}}
		for _, item := range checks.Got(maps1.List(ctx, metav1.ListOptions{})).Items {
			versions[0][item.Name] = item.ResourceVersion
		}
		for _, item := range checks.Got(objects.List(ctx, metav1.ListOptions{})).Items {
			versions[1][item.GetName()] = item.GetResourceVersion()
		}
		return versions
	}
	change := func(name string) {
		checks.Got(maps1.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))
		checks.Got(objects.Create(ctx, checks.Object("Gear", name, nil), metav1.CreateOptions{}))
	}
	for round, breaks := range []func(){wire.Cut, checks.Restart, checks.Forget, wire.Cut, checks.Restart} {
		wire.Without(func() {
			change(fmt.Sprintf("before-%d", round))
			breaks()
		})
		change(fmt.Sprintf("after-%d", round))
		checks.Must(maps1.Delete(ctx, fmt.Sprintf("before-%d", round), metav1.DeleteOptions{}))
		checks.Must(objects.Delete(ctx, fmt.Sprintf("before-%d", round), metav1.DeleteOptions{}))
		for i := range followed {
			checks.Until("the informers have what is stored", func() bool { return maps.Equal(checks.Versions(followed[i]), stored()[i]) })
			checks.Until("so have their events", func() bool { return maps.Equal(followers[i].Sum(), stored()[i]) })
			checks.Equal(followers[i].Faults(), []string(nil))
		}
	}
}

func retries(ctx context.Context) {
	client := kubernetes.NewForConfigOrDie(checks.Dial().Config).CoreV1().ConfigMaps(ns)
	create := func(name string) *corev1.ConfigMap {
		return checks.Got(client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))
	}
	since := create("retried-0").ResourceVersion
	watcher := checks.Got(watchtools.NewRetryWatcherWithContext(ctx, since, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	}))
	defer watcher.Stop()
	for _, name := range []string{"retried-1", "retried-2"} {
		create(name)
		event := <-watcher.ResultChan()
		checks.Equal([]any{string(event.Type), event.Object.(*corev1.ConfigMap).Name}, []any{"ADDED", name})
		checks.Restart()
	}
}
