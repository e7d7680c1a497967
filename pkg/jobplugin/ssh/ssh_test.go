package ssh_test

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	plugin "github.com/muster-sh/muster/pkg/jobplugin/ssh"
)

func bert() *batchv1alpha1.Job {
	return &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "bert"}}
}

// secret is what the plugin makes once.
func secret(t *testing.T, args ...string) map[string][]byte {
	t.Helper()
	p, err := plugin.New(rand.Reader)(args)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := p.Once(bert())
	if err != nil || len(objects) != 1 {
		t.Fatal(objects, err)
	}
	s, ok := objects[0].(*corev1.Secret)
	if !ok || s.Name != "bert-ssh" {
		t.Fatalf("%T %s", objects[0], objects[0].GetName())
	}
	return s.Data
}

// TestEachKeyOpensTheDoor: both kinds are allowed, and belong to what is public of them.
func TestEachKeyOpensTheDoor(t *testing.T) {
	files := secret(t)
	for _, name := range []string{"id_rsa", "id_ed25519"} {
		signer, err := ssh.ParsePrivateKey(files[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		line := string(ssh.MarshalAuthorizedKey(signer.PublicKey()))
		if line != string(files[name+".pub"]) || !strings.Contains(string(files["authorized_keys"]), line) {
			t.Errorf("%s is not what is allowed", name)
		}
	}
	if again := secret(t); string(again["id_rsa"]) == string(files["id_rsa"]) {
		t.Error("two jobs have one key")
	}
}

// TestOnlyHostsOfTheJobAreNotChecked, and all of them are found by the short name as well.
func TestOnlyHostsOfTheJobAreNotChecked(t *testing.T) {
	const want = `Host bert-*.bert
  HostName %h
Host bert-*
  HostName %h.bert
Host bert-*.bert bert-*
  Port 22
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
  IdentityFile /root/.ssh/id_rsa
  IdentityFile /root/.ssh/id_ed25519
`
	if diff := cmp.Diff(want, string(secret(t)["config"])); diff != "" {
		t.Error(diff)
	}
}

func TestKeysOfTheUsersOwn(t *testing.T) {
	own := secret(t)
	files := secret(t, "--ssh-private-key="+string(own["id_rsa"]), "--ssh-public-key="+string(own["id_rsa.pub"]), "--ssh-port=2222")
	if string(files["id_rsa"]) != string(own["id_rsa"]) || string(files["authorized_keys"]) != string(own["id_rsa.pub"]) || files["id_ed25519"] != nil {
		t.Error("they are not taken as they are")
	}
	if !strings.Contains(string(files["config"]), "Port 2222\n") {
		t.Errorf("%s", files["config"])
	}
	for want, args := range map[string][]string{
		"give both, or none":      {"--ssh-public-key=x"},
		"can't be read":           {"--ssh-private-key=x", "--ssh-public-key=x"},
		"give an absolute path":   {"--ssh-key-file-path=keys"},
		"--ssh-port is \"70000\"": {"--ssh-port=70000"},
	} {
		if _, err := plugin.New(rand.Reader)(args); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestKeysAreMountedWhereSSHTrustsThem(t *testing.T) {
	for folder, mode := range map[string]int32{"/root/.ssh": 0o600, "/home/me/.ssh": 0o644} {
		p, err := plugin.New(rand.Reader)([]string{"--ssh-key-file-path=" + folder})
		if err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{}}, Containers: []corev1.Container{{}}}}
		if err := p.Wire(pod, bert(), 0, 0); err != nil {
			t.Fatal(err)
		}
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			if len(c.VolumeMounts) != 1 || c.VolumeMounts[0].MountPath != folder || c.VolumeMounts[0].SubPath != ".ssh" {
				t.Errorf("%+v", c.VolumeMounts)
			}
		}
		if got := *pod.Spec.Volumes[0].Secret.DefaultMode; got != mode {
			t.Errorf("%s: mode %o, want %o", folder, got, mode)
		}
	}
}
