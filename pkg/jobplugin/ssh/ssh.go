// Package ssh lets the pods of a job log in to one another without a password.
package ssh

import (
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/jobplugin/wiring"
)

// Name is the plugin's name in a job.
const Name = "ssh"

// home is where root's keys are.
const home = "/root/.ssh"

// bits of an RSA key.
const bits = 2048

// The files of the Secret.
const (
	rsaFile     = "id_rsa"
	ed25519File = "id_ed25519"
	public      = ".pub"
	allowed     = "authorized_keys"
	settings    = "config"
)

// Plugin is the plugin.
type Plugin struct {
	random                io.Reader
	folder, private, open string
	port                  int32
}

// New makes it; random is where keys come from. Arguments: --ssh-key-file-path (/root/.ssh), where
// keys are mounted; --ssh-private-key and --ssh-public-key, keys of the user's own, both or
// none; --ssh-port (22).
func New(random io.Reader) func(args []string) (Plugin, error) {
	return func(args []string) (Plugin, error) {
		f := wiring.Read(Name, args)
		p := Plugin{
			random: random, folder: path.Clean(f.Text("ssh-key-file-path", home)),
			private: f.Text("ssh-private-key", ""), open: f.Text("ssh-public-key", ""), port: f.Port("ssh-port", 22),
		}
		err := f.Err()
		switch {
		case (p.private == "") != (p.open == ""):
			err = errors.Join(err, errors.New("plugin ssh: of --ssh-private-key and --ssh-public-key one is given: give both, or none"))
		case p.private != "":
			if _, bad := ssh.ParseRawPrivateKey([]byte(p.private)); bad != nil {
				err = errors.Join(err, errors.New("plugin ssh: --ssh-private-key can't be read: give a key in PEM without a password"))
			}
		}
		if !path.IsAbs(p.folder) {
			err = errors.Join(err, fmt.Errorf("plugin ssh: --ssh-key-file-path is %q: give an absolute path", p.folder))
		}
		return p, err
	}
}

func secretName(job *batchv1alpha1.Job) string { return job.Name + "-ssh" }

// Objects are none that are written again and again.
func (Plugin) Objects(*batchv1alpha1.Job) ([]apis.Object, error) { return nil, nil }

// Once is the Secret with the keys, and with what ssh is told of the hosts. Keys that running
// pods have must stay, so it is made once; hosts need no entries, since all have one rule.
func (p Plugin) Once(job *batchv1alpha1.Job) ([]apis.Object, error) {
	data, err := p.keys()
	if err != nil {
		return nil, fmt.Errorf("plugin %s: make keys: %w", Name, err)
	}
	data[settings] = []byte(p.config(job))
	return []apis.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName(job), Namespace: job.Namespace}, Data: data}}, nil
}

// config is what ssh is told of the job's hosts, and of no others: what is not checked of
// these, because their keys are as young as they, is checked of the rest of the world.
func (p Plugin) config(job *batchv1alpha1.Job) string {
	short := []string{job.Name + "-*"}
	for i := range job.Spec.Tasks {
		if name := job.Spec.Tasks[i].Template.Spec.Hostname; name != "" {
			short = append(short, name)
		}
	}
	var long []string
	for _, name := range short {
		long = append(long, name+"."+job.Name)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Host %s\n  HostName %%h\n", strings.Join(long, " ")) // the first that fits counts
	fmt.Fprintf(&text, "Host %s\n  HostName %%h.%s\n", strings.Join(short, " "), job.Name)
	fmt.Fprintf(&text, "Host %s\n  Port %d\n", strings.Join(append(long, short...), " "), p.port)
	text.WriteString("  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n")
	for _, file := range p.files() {
		if file == rsaFile || file == ed25519File {
			fmt.Fprintf(&text, "  IdentityFile %s\n", path.Join(p.folder, file))
		}
	}
	return text.String()
}

// keys are those of the user, else new ones of two kinds: old images know RSA alone.
func (p Plugin) keys() (map[string][]byte, error) {
	if p.private != "" { // ssh reads no key whose last line does not end
		private, open := []byte(strings.TrimSpace(p.private)+"\n"), []byte(strings.TrimSpace(p.open)+"\n")
		return map[string][]byte{rsaFile: private, rsaFile + public: open, allowed: open}, nil
	}
	key, err := rsa.GenerateKey(p.random, bits)
	if err != nil {
		return nil, err
	}
	_, young, err := ed25519.GenerateKey(p.random)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(young, "")
	if err != nil {
		return nil, err
	}
	old, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	fresh, err := ssh.NewPublicKey(young.Public())
	if err != nil {
		return nil, err
	}
	oldLine, freshLine := ssh.MarshalAuthorizedKey(old), ssh.MarshalAuthorizedKey(fresh)
	return map[string][]byte{
		rsaFile:              pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
		rsaFile + public:     oldLine,
		ed25519File:          pem.EncodeToMemory(block),
		ed25519File + public: freshLine,
		allowed:              append(append([]byte{}, oldLine...), freshLine...),
	}, nil
}

// files are those of the Secret.
func (p Plugin) files() []string {
	files := []string{rsaFile, rsaFile + public, allowed, settings}
	if p.private == "" {
		files = append(files, ed25519File, ed25519File+public)
	}
	return files
}

// Wire mounts the Secret in all containers of a pod, by a folder in it: sshd trusts no keys in
// one that anybody may write to, as the volume itself is. Elsewhere than in root's home others
// than root may have to read them.
func (p Plugin) Wire(pod *corev1.Pod, job *batchv1alpha1.Job, _, _ int) error {
	mode := int32(0o600)
	if p.folder != home {
		mode = 0o644
	}
	const folder = ".ssh"
	var items []corev1.KeyToPath
	for _, file := range p.files() {
		items = append(items, corev1.KeyToPath{Key: file, Path: path.Join(folder, file)})
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "job-keys", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: secretName(job), Items: items, DefaultMode: &mode},
	}})
	wiring.Each(pod, func(c *corev1.Container) {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "job-keys", MountPath: p.folder, SubPath: folder})
	})
	return nil
}
