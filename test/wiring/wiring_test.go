package wiring_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// inside names what the test's own binary does where it runs in a pod.
const inside = "MUSTER_WIRING_INSIDE"

func TestMain(m *testing.M) {
	if os.Getenv(inside) != "" {
		if err := rendezvous(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// rendezvous is what torchrun does: the first listens where all were told, the others come
// there and say who they are, and all are told who came.
func rendezvous() error {
	rank, size := os.Getenv("RANK"), os.Getenv("WORLD_SIZE")
	addr := net.JoinHostPort(os.Getenv("MASTER_ADDR"), os.Getenv("MASTER_PORT"))
	world, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	if rank != "0" {
		var c net.Conn
		for range 200 {
			if c, err = net.Dial("tcp", addr); err == nil {
				break
			}
			<-time.After(50 * time.Millisecond)
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(c, rank)
		_, err = io.Copy(os.Stdout, c)
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	ranks, conns := []string{rank}, []net.Conn{}
	for len(ranks) < world {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			return err
		}
		ranks, conns = append(ranks, strings.TrimSpace(line)), append(conns, c)
	}
	slices.Sort(ranks)
	for _, c := range conns {
		fmt.Fprintln(c, ranks)
		_ = c.Close()
	}
	fmt.Println(ranks)
	return nil
}

// TestPyTorchPodsFindOneAnother, with a master and without one.
func TestPyTorchPodsFindOneAnother(t *testing.T) {
	needs(t, nil)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, tasks := range map[string][]int32{"a master and three workers": {1, 3}, "three workers": {0, 3}} {
		t.Run(name, func(t *testing.T) {
			j := job(map[string][]string{"pytorch": {"--port=" + port(t)}}, tasksOf(tasks)...)
			pods := start(t, j)
			said := make([]string, len(pods))
			var all sync.WaitGroup
			for i, p := range pods {
				p.env = append(p.env, inside+"=rendezvous")
				all.Go(func() {
					out, err := p.command(t.Context(), self).CombinedOutput()
					said[i] = fmt.Sprint(strings.TrimSpace(string(out)), err)
				})
			}
			all.Wait()
			want := map[int]string{3: "[0 1 2]", 4: "[0 1 2 3]"}[len(pods)]
			for i, got := range said {
				if got != want+"<nil>" {
					t.Errorf("pod %s sees %s, want %s", pods[i].host, got, want)
				}
			}
		})
	}
}

// TestTensorFlowPodsReadTheirCluster from TF_CONFIG, and reach each address in it.
func TestTensorFlowPodsReadTheirCluster(t *testing.T) {
	needs(t, nil)
	pods := start(t, job(map[string][]string{"tensorflow": nil}, tasks("ps", 1), tasks("worker", 2)))
	want := map[string][]string{"ps": {"bert-ps-0.bert:2222"}, "worker": {"bert-worker-0.bert:2222", "bert-worker-1.bert:2222"}}
	for i, task := range []string{"ps 0", "worker 0", "worker 1"} {
		var config struct {
			Cluster map[string][]string
			Task    struct {
				Type  string
				Index int
			}
		}
		if err := json.Unmarshal([]byte(pods[i].output(t, "sh", "-c", `printf %s "$TF_CONFIG"`)), &config); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, config.Cluster); diff != "" || fmt.Sprint(config.Task.Type, " ", config.Task.Index) != task {
			t.Errorf("%s: %+v %s", task, config.Task, diff)
		}
		for k, host := range []string{"bert-ps-0.bert", "bert-worker-0.bert", "bert-worker-1.bert"} {
			if got := pods[i].output(t, "getent", "hosts", host); !strings.HasPrefix(got, pods[k].addr) {
				t.Errorf("%s sees %s at %s, want %s", pods[i].host, host, got, pods[k].addr)
			}
		}
	}
}

// serve runs sshd in a pod until the test ends.
func serve(t *testing.T, p *pod, port string) {
	t.Helper()
	p.output(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(p.root, "host_key"))
	settings := filepath.Join(p.root, "sshd_config")
	text := fmt.Sprintf("ListenAddress %s\nPort %s\nHostKey %s\nPidFile none\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n", p.addr, port, filepath.Join(p.root, "host_key"))
	write(t, settings, []byte(text), 0o600)
	cmd := p.command(t.Context(), "/usr/sbin/sshd", "-D", "-e", "-f", settings)
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("sshd of %s: %s", p.host, log.String())
		}
	})
	for range 100 {
		if c, err := net.Dial("tcp", net.JoinHostPort(p.addr, port)); err == nil {
			_ = c.Close()
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Fatalf("sshd of %s does not answer: %s", p.host, log.String())
}

// TestPodsLogInToOneAnother without being asked anything, by long and by short names, both ways.
func TestPodsLogInToOneAnother(t *testing.T) {
	needs(t, map[string]string{"/usr/sbin/sshd": "openssh-server", "ssh": "openssh-client"})
	port := port(t)
	pods := start(t, job(map[string][]string{"ssh": {"--ssh-port=" + port}, "svc": nil}, tasks("worker", 2)))
	for _, p := range pods {
		serve(t, p, port)
	}
	for i, p := range pods {
		other := pods[1-i].host
		for _, name := range []string{other, other + ".bert"} {
			if got := p.output(t, "ssh", "-o", "BatchMode=yes", name, "hostname"); got != other+"\n" {
				t.Errorf("%s says %q", name, got)
			}
		}
	}
}

// TestMPIRunsARankOnEachWorker over that, with nothing but what the plugin says.
func TestMPIRunsARankOnEachWorker(t *testing.T) {
	needs(t, map[string]string{"/usr/sbin/sshd": "openssh-server", "ssh": "openssh-client", "mpirun": "openmpi-bin"})
	port := port(t)
	pods := start(t, job(map[string][]string{"mpi": nil, "ssh": {"--ssh-port=" + port}}, tasks("master", 1), tasks("worker", 2)))
	for _, p := range pods[1:] {
		serve(t, p, port)
	}
	// All pods share the machine's network here: names alone tell hosts apart.
	pods[0].env = append(pods[0].env, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_orte_do_not_resolve=1")
	lines := strings.Split(strings.TrimSpace(pods[0].output(t, "mpirun", "-np", "2", "sh", "-c", `echo "rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE on $(hostname)"`)), "\n")
	slices.Sort(lines)
	if diff := cmp.Diff([]string{"rank 0 of 2 on bert-worker-0", "rank 1 of 2 on bert-worker-1"}, lines); diff != "" {
		t.Error(diff)
	}
}
