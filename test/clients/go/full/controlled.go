package main

import (
	"context"
	"time"

	"coppice.dev/test/clients/checks"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var controlled = []checks.Check{
	{Name: "controller-runtime: a manager that is elected owns config maps of a defined kind, over a restart and 410, with status and a finalizer", Try: manager},
}

const finalizer = "go.example.com/clean-up"

// maker keeps a config map for each Wheel, says so in its status, and cleans up before it goes.
type maker struct{ client client.Client }

func wheel() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: checks.Group, Version: "v1", Kind: "Wheel"})
	return object
}

func (m maker) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	owner := wheel()
	if err := m.client.Get(ctx, request.NamespacedName, owner); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !owner.GetDeletionTimestamp().IsZero() {
		cleaned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: owner.GetName() + "-cleaned", Namespace: ns}}
		if err := m.client.Create(ctx, cleaned); err != nil && !apierrors.IsAlreadyExists(err) {
			return ctrl.Result{}, err
		}
		controllerutil.RemoveFinalizer(owner, finalizer)
		return ctrl.Result{}, client.IgnoreNotFound(m.client.Update(ctx, owner))
	}
	if controllerutil.AddFinalizer(owner, finalizer) {
		return ctrl.Result{}, m.client.Update(ctx, owner)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: owner.GetName(), Namespace: ns}}
	size, _, _ := unstructured.NestedString(owner.Object, "spec", "size")
	if _, err := controllerutil.CreateOrUpdate(ctx, m.client, owned, func() error {
		owned.Data = map[string]string{"size": size}
		return controllerutil.SetControllerReference(owner, owned, m.client.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	before := owner.DeepCopy()
	_ = unstructured.SetNestedField(owner.Object, owner.GetGeneration(), "status", "observedGeneration")
	return ctrl.Result{}, m.client.Status().Patch(ctx, owner, client.MergeFrom(before))
}

func manager(ctx context.Context) {
	ctrl.SetLogger(logr.Discard())
	config := checks.Dial().Config
	wheels := checks.Define(ctx, dynamic.NewForConfigOrDie(config), "wheels", "Wheel")
	lease, renew, retry := 15*time.Second, 10*time.Second, 300*time.Millisecond
	made := checks.Got(ctrl.NewManager(config, ctrl.Options{
		Metrics:        metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "maker.go.example.com", LeaderElectionNamespace: ns, LeaderElectionReleaseOnCancel: true,
		LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &retry,
	}))
	checks.Must(ctrl.NewControllerManagedBy(made).For(wheel()).Owns(&corev1.ConfigMap{}).Complete(maker{made.GetClient()}))
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- made.Start(running) }()
	<-made.Elected()

	objects := dynamic.NewForConfigOrDie(checks.Dial().Config).Resource(wheels).Namespace(ns)
	other := checks.Got(client.New(checks.Dial().Config, client.Options{}))
	settled := func(name string, generation int64, size string) {
		checks.Until(name+" is looked after", func() bool {
			got := checks.Got(objects.Get(ctx, name, metav1.GetOptions{}))
			seen, _, _ := unstructured.NestedInt64(got.Object, "status", "observedGeneration")
			owned := &corev1.ConfigMap{}
			err := other.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, owned)
			return err == nil && seen == generation && owned.Data["size"] == size && metav1.IsControlledBy(owned, got)
		})
	}
	checks.Got(objects.Create(ctx, checks.Object("Wheel", "w1", map[string]any{"size": "small"}), metav1.CreateOptions{}))
	settled("w1", 1, "small")
	for _, breaks := range []func(){checks.Restart, checks.Forget} {
		checks.Must(other.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "w1", Namespace: ns}}))
		breaks()
		settled("w1", 1, "small")
	}
	got := checks.Got(objects.Get(ctx, "w1", metav1.GetOptions{}))
	checks.Must(unstructured.SetNestedField(got.Object, "large", "spec", "size"))
	checks.Got(objects.Update(ctx, got, metav1.UpdateOptions{}))
	settled("w1", 2, "large")

	checks.Must(objects.Delete(ctx, "w1", metav1.DeleteOptions{}))
	gone := func(object client.Object, name string) func() bool {
		return func() bool {
			return apierrors.IsNotFound(other.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, object))
		}
	}
	checks.Until("it is gone", gone(wheel(), "w1"))
	checks.Until("so is what it owned", gone(&corev1.ConfigMap{}, "w1"))
	checks.Equal(gone(&corev1.ConfigMap{}, "w1-cleaned")(), false)
	stop()
	checks.Must(<-ended)
}
