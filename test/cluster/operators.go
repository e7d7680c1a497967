package cluster

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const operatorNamespace = "kubeflow"

// operatorBinary maps an operator's short name to its binary.
func operatorBinary(name string) (string, error) {
	switch name {
	case "training":
		return TrainingOperator, nil
	case "mpi":
		return MPIOperator, nil
	default:
		return "", fmt.Errorf("operator %q is unknown; there are training and mpi", name)
	}
}

// StartOperator installs an operator's CRDs and starts it. With a gang flag,
// Muster's CRDs must be there already.
func (c *Cluster) StartOperator(ctx context.Context, o Operator) error {
	name, err := operatorBinary(o.Name)
	if err != nil {
		return err
	}
	binary, err := Binary(ctx, name, c.config.Progress)
	if err != nil {
		return err
	}
	_, err = c.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}}, metav1.CreateOptions{})
	if err := exists(err); err != nil {
		return fmt.Errorf("create namespace %s: %w", operatorNamespace, err)
	}
	if !c.asked(o.Name) {
		crds, err := c.operatorCRDs(ctx, o.Name)
		if err != nil {
			return err
		}
		if err := c.Apply(ctx, crds...); err != nil {
			return err
		}
	}
	if o.Name == "mpi" {
		// The lease of one that was killed would hold this one up, and pass for its own.
		err := c.client.CoordinationV1().Leases(operatorNamespace).Delete(ctx, "mpi-operator", metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete lease of mpi-operator: %w", err)
		}
		return c.launch(ctx, c.mpiOperator(binary, o.Gang))
	}
	return c.startTraining(ctx, binary, o.Gang)
}

// operatorCRDs returns the files of an operator's CRDs. Both operators bring one
// named mpijobs.kubeflow.org, of different versions; mpi-operator's wins where both run.
func (c *Cluster) operatorCRDs(ctx context.Context, operator string) ([]string, error) {
	name, err := operatorBinary(operator)
	if err != nil {
		return nil, err
	}
	binary, err := Binary(ctx, name, c.config.Progress)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(binary), "crds", "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list CRDs: %w", err)
	}
	return slices.DeleteFunc(files, func(file string) bool {
		return operator == "training" && c.runs("mpi") && strings.HasSuffix(file, "_mpijobs.yaml")
	}), nil
}

// runs reports whether an operator is asked for or started.
func (c *Cluster) runs(operator string) bool {
	binary, err := operatorBinary(operator)
	return c.asked(operator) || (err == nil && c.process(binary) != nil)
}

// asked reports whether an operator is part of the cluster's configuration.
func (c *Cluster) asked(operator string) bool {
	return slices.ContainsFunc(c.config.Operators, func(o Operator) bool { return o.Name == operator })
}

// StopOperator ends an operator as a crash would.
func (c *Cluster) StopOperator(name string) error {
	binary, err := operatorBinary(name)
	if err != nil {
		return err
	}
	return c.Kill(binary)
}

func (c *Cluster) mpiOperator(binary string, gang bool) spec {
	args := []string{
		"--kubeConfig=" + c.kubeconfig, "--lock-namespace=" + operatorNamespace, "--monitoring-port=0",
		"--kube-api-qps=200", "--kube-api-burst=400", "--threadiness=8",
	}
	if gang {
		args = append(args, "--gang-scheduling=volcano")
	}
	return spec{
		name: MPIOperator, path: binary, args: args, env: []string{"KUBEFLOW_NAMESPACE="},
		ready: func(ctx context.Context) error {
			lease, err := c.client.CoordinationV1().Leases(operatorNamespace).Get(ctx, "mpi-operator", metav1.GetOptions{})
			if err == nil && (lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "") {
				err = fmt.Errorf("lease mpi-operator has no holder")
			}
			return err
		},
	}
}

const (
	trainingSecret  = "training-operator-webhook-cert"
	trainingWebhook = "validator.training-operator.kubeflow.org"
	trainingService = "training-operator.kubeflow.svc"
	trainingCA      = "training-operator-ca"
	// trainingMarker is the file, of a fixed path, that training-operator waits
	// for before it starts. Only that it exists matters, so clusters share it.
	trainingMarker = "/tmp/k8s-webhook-server/serving-certs/tls.crt"
)

// trainingCerts makes what training-operator expects of its pod: a Secret with
// the webhook's certificate, the same as files below its temporary folder, and a
// webhook configuration that stays empty, since nothing may depend on it here.
func (c *Cluster) trainingCerts(ctx context.Context, temp string) error {
	hooks := c.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := hooks.Create(ctx, &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: trainingWebhook}}, metav1.CreateOptions{})
	if err := exists(err); err != nil {
		return fmt.Errorf("create webhook configuration %s: %w", trainingWebhook, err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048) // it understands no other
	if err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	ca, err := newAuthority(trainingCA, key)
	if err != nil {
		return fmt.Errorf("make certificate authority: %w", err)
	}
	server, err := ca.issue(pkix.Name{CommonName: trainingService}, trainingService)
	if err != nil {
		return fmt.Errorf("issue certificate of %s: %w", trainingService, err)
	}
	caKey, err := keyPEM(ca.key)
	if err != nil {
		return err
	}
	data := map[string][]byte{"ca.crt": ca.pem, "ca.key": caKey, "tls.crt": server.cert, "tls.key": server.key}
	secrets := c.client.CoreV1().Secrets(operatorNamespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: trainingSecret}, Data: data}
	if _, err = secrets.Create(ctx, secret, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write secret %s: %w", trainingSecret, err)
	}
	folder := filepath.Join(temp, "k8s-webhook-server", "serving-certs")
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.MkdirAll(filepath.Dir(trainingMarker), 0o755)); err != nil {
		return fmt.Errorf("make certificate folder: %w", err)
	}
	if _, err := os.Stat(trainingMarker); err != nil {
		if err := os.WriteFile(trainingMarker, server.cert, 0o644); err != nil {
			return fmt.Errorf("write certificate: %w", err)
		}
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "tls.crt"), server.cert, 0o600),
		os.WriteFile(filepath.Join(folder, "tls.key"), server.key, 0o600),
	)
}

func (c *Cluster) startTraining(ctx context.Context, binary string, gang bool) error {
	temp := c.file("training-tmp")
	if err := c.trainingCerts(ctx, temp); err != nil {
		return err
	}
	var probe, hook int
	if err := freePorts(&probe, &hook); err != nil {
		return err
	}
	health := fmt.Sprintf("127.0.0.1:%d", probe)
	args := []string{
		"--kubeconfig=" + c.kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=" + health,
		fmt.Sprintf("--webhook-server-port=%d", hook), "--kube-api-qps=200", "--kube-api-burst=400", "--controller-threads=8",
	}
	if gang {
		args = append(args, "--gang-scheduler-name=volcano")
	}
	if c.runs("mpi") {
		for _, kind := range []string{"pytorchjob", "tfjob", "xgboostjob", "paddlejob", "jaxjob"} {
			args = append(args, "--enable-scheme="+kind)
		}
	}
	return c.launch(ctx, spec{
		name: TrainingOperator, path: binary, args: args,
		env:   []string{"TMPDIR=" + temp, "MY_POD_NAMESPACE=" + operatorNamespace},
		ready: func(ctx context.Context) error { return get(ctx, "http://"+health+"/readyz") },
	})
}
