package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
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
	if err := c.operatorCRDs(ctx, o.Name, filepath.Join(filepath.Dir(binary), "crds")); err != nil {
		return err
	}
	if o.Name == "mpi" {
		return c.launch(ctx, c.mpiOperator(binary, o.Gang))
	}
	return c.startTraining(ctx, binary, o.Gang)
}

// operatorCRDs installs CRDs. Both operators bring one named mpijobs.kubeflow.org,
// of different versions; mpi-operator's wins where both run.
func (c *Cluster) operatorCRDs(ctx context.Context, operator, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return fmt.Errorf("list CRDs: %w", err)
	}
	for _, file := range files {
		if operator == "training" && c.runs("mpi") && strings.HasSuffix(file, "_mpijobs.yaml") {
			continue
		}
		if err := c.Apply(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

// runs reports whether an operator is asked for or started.
func (c *Cluster) runs(operator string) bool {
	for _, o := range c.config.Operators {
		if o.Name == operator {
			return true
		}
	}
	binary, err := operatorBinary(operator)
	c.mu.Lock()
	defer c.mu.Unlock()
	return err == nil && c.processes[binary] != nil
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
)

// mountedCerts is where training-operator looks for certificate files before it
// starts: a fixed path. That they exist is all that it checks there, so clusters
// side by side may share it.
const mountedCerts = "/tmp/k8s-webhook-server/serving-certs"

// startTraining starts training-operator. It waits for its certificate to appear
// as files, as a mounted Secret would, and serves from those below its temporary
// folder: outside a pod somebody must put them there.
func (c *Cluster) startTraining(ctx context.Context, binary string, gang bool) error {
	secrets := c.client.CoreV1().Secrets(operatorNamespace)
	_, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: trainingSecret}}, metav1.CreateOptions{})
	if err := exists(err); err != nil {
		return fmt.Errorf("create secret %s: %w", trainingSecret, err)
	}
	hooks := c.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err = hooks.Create(ctx, &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: trainingWebhook}}, metav1.CreateOptions{})
	if err := exists(err); err != nil {
		return fmt.Errorf("create webhook configuration %s: %w", trainingWebhook, err)
	}
	temp := c.file("training-tmp")
	certs := filepath.Join(temp, "k8s-webhook-server", "serving-certs")
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
		env: []string{"TMPDIR=" + temp, "MY_POD_NAMESPACE=" + operatorNamespace},
		ready: func(ctx context.Context) error {
			if err := c.copyCerts(ctx, certs, mountedCerts); err != nil {
				return err
			}
			return get(ctx, "http://"+health+"/readyz")
		},
	})
}

// copyCerts writes the Secret's certificate files to folders, once the operator has filled it.
func (c *Cluster) copyCerts(ctx context.Context, folders ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	secret, err := c.client.CoreV1().Secrets(operatorNamespace).Get(ctx, trainingSecret, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		for _, name := range []string{"ca.crt", "tls.crt", "tls.key"} {
			data := secret.Data[name]
			if len(data) == 0 {
				return fmt.Errorf("secret %s has no %s yet", trainingSecret, name)
			}
			if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}
