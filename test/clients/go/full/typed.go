package main

import (
	"context"

	"coppice.dev/test/clients/checks"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
)

var typed = []checks.Check{
	{Name: "typed: namespaces, made and deleted until they are gone", Try: namespaces},
	{Name: "typed: config maps and secrets, sent as protobuf without being told to", Try: configMaps},
	{Name: "typed: everything asked for and sent as protobuf", Try: protobufOnly},
	{Name: "typed: apply configurations, taken out of an object and applied", Try: applyConfigurations},
	{Name: "typed: a service account's token, and who it says one is", Try: tokens},
	{Name: "typed: access reviews", Try: accessReviews},
	{Name: "typed: a page at a time, of one version while others write", Try: pages},
}

const ns = "default"

func namespaces(ctx context.Context) {
	client := kubernetes.NewForConfigOrDie(checks.Dial().Config).CoreV1().Namespaces()
	made := checks.Got(client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "go-"}}, metav1.CreateOptions{}))
	checks.Equal(made.Status.Phase, corev1.NamespaceActive)
	_, err := client.Patch(ctx, made.Name, types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	checks.Must(err)
	checks.Equal(len(checks.Got(client.List(ctx, metav1.ListOptions{LabelSelector: "a=b"})).Items), 1)
	checks.Must(client.Delete(ctx, made.Name, metav1.DeleteOptions{}))
	checks.Until("it is gone", func() bool {
		_, err := client.Get(ctx, made.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func configMaps(ctx context.Context) {
	wire := checks.Dial()
	core := kubernetes.NewForConfigOrDie(wire.Config).CoreV1()
	made := checks.Got(core.ConfigMaps(ns).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "typed"}, Data: map[string]string{"a": "1"}, BinaryData: map[string][]byte{"b": {0, 255}},
	}, metav1.CreateOptions{}))
	checks.Equal([]any{made.Data, made.BinaryData}, []any{map[string]string{"a": "1"}, map[string][]byte{"b": {0, 255}}})
	checks.Equal(wire.Asked("POST", "/configmaps application/vnd.kubernetes.protobuf"), 1)
	stale := made.DeepCopy()
	checks.Must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		stale.Data["a"] = "2"
		_, err := core.ConfigMaps(ns).Update(ctx, stale, metav1.UpdateOptions{})
		return err
	}))
	_, err := core.ConfigMaps(ns).Update(ctx, made, metav1.UpdateOptions{})
	checks.That("an old object is a Conflict", apierrors.IsConflict(err))
	secret := checks.Got(core.Secrets(ns).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "typed"}, StringData: map[string]string{"k": "v"}, Type: corev1.SecretTypeOpaque,
	}, metav1.CreateOptions{}))
	checks.Equal(secret.Data, map[string][]byte{"k": []byte("v")})
	checks.Must(core.Secrets(ns).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=typed"}))
	_, err = core.Secrets(ns).Get(ctx, "typed", metav1.GetOptions{})
	checks.That("it is gone", apierrors.IsNotFound(err))
}

// As controllers are told to run: rest.Config with nothing but protobuf.
func protobufOnly(ctx context.Context) {
	config := rest.CopyConfig(checks.Dial().Config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	core := kubernetes.NewForConfigOrDie(config).CoreV1()
	made := checks.Got(core.ServiceAccounts(ns).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "proto"}}, metav1.CreateOptions{}))
	stream := checks.Got(core.ServiceAccounts(ns).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=proto", ResourceVersion: made.ResourceVersion}))
	defer stream.Stop()
	foreground := metav1.DeletePropagationBackground
	checks.Must(core.ServiceAccounts(ns).Delete(ctx, "proto", metav1.DeleteOptions{PropagationPolicy: &foreground, Preconditions: metav1.NewUIDPreconditions(string(made.UID))}))
	event := <-stream.ResultChan()
	checks.Equal([]any{string(event.Type), event.Object.(*corev1.ServiceAccount).Name}, []any{"DELETED", "proto"})
}

func applyConfigurations(ctx context.Context) {
	core := kubernetes.NewForConfigOrDie(checks.Dial().Config).CoreV1().ConfigMaps(ns)
	mine := metav1.ApplyOptions{FieldManager: "mine"}
	made := checks.Got(core.Apply(ctx, applycorev1.ConfigMap("applied", ns).WithData(map[string]string{"a": "1", "b": "2"}), mine))
	taken := checks.Got(applycorev1.ExtractConfigMap(made, "mine"))
	checks.Equal(taken.Data, map[string]string{"a": "1", "b": "2"})
	delete(taken.Data, "b")
	checks.Equal(checks.Got(core.Apply(ctx, taken, mine)).Data, map[string]string{"a": "1"})
}

func tokens(ctx context.Context) {
	wire := checks.Dial()
	client := kubernetes.NewForConfigOrDie(wire.Config)
	checks.Got(client.CoreV1().ServiceAccounts(ns).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{}))
	made := checks.Got(client.CoreV1().ServiceAccounts(ns).CreateToken(ctx, "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{}))
	robot := rest.AnonymousClientConfig(wire.Config)
	robot.BearerToken = made.Status.Token
	review := checks.Got(kubernetes.NewForConfigOrDie(robot).AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}))
	checks.Equal(review.Status.UserInfo.Username, "system:serviceaccount:default:robot")
	spec := authenticationv1.TokenReviewSpec{Token: made.Status.Token}
	told := checks.Got(client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{Spec: spec}, metav1.CreateOptions{}))
	checks.Equal([]any{told.Status.Authenticated, told.Status.User.Username}, []any{true, "system:serviceaccount:default:robot"})
}

func accessReviews(ctx context.Context) {
	client := kubernetes.NewForConfigOrDie(checks.Dial().Config)
	can := func(config *rest.Config, verb, resource string) bool {
		spec := authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: ns, Verb: verb, Resource: resource}}
		review := kubernetes.NewForConfigOrDie(config).AuthorizationV1().SelfSubjectAccessReviews()
		return checks.Got(review.Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: spec}, metav1.CreateOptions{})).Status.Allowed
	}
	checks.Equal(can(checks.Dial().Config, "create", "configmaps"), true)
	nobody := checks.Dial().Config
	nobody.Impersonate = rest.ImpersonationConfig{UserName: "nobody", Groups: []string{"system:authenticated"}}
	checks.Equal(can(nobody, "create", "secrets"), false)
	rules := authorizationv1.SelfSubjectRulesReviewSpec{Namespace: ns}
	told := checks.Got(client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{Spec: rules}, metav1.CreateOptions{}))
	checks.That("there are rules", len(told.Status.ResourceRules) > 0)
}

func pages(ctx context.Context) {
	core := kubernetes.NewForConfigOrDie(checks.Dial().Config).CoreV1().ConfigMaps(ns)
	labels := map[string]string{"page": "y"}
	create := func(name string) {
		checks.Got(core.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{}))
	}
	for _, name := range []string{"page-1", "page-2", "page-3"} {
		create(name)
	}
	var names, versions []string
	options := metav1.ListOptions{LabelSelector: "page=y", Limit: 1}
	for more := true; more; more = options.Continue != "" {
		page := checks.Got(core.List(ctx, options))
		names, versions = append(names, page.Items[0].Name), append(versions, page.ResourceVersion)
		options.Continue = page.Continue
		create("page-1-" + page.Items[0].Name)
	}
	checks.Equal([]any{names, versions[1:]}, []any{[]string{"page-1", "page-2", "page-3"}, []string{versions[0], versions[0]}})
}
