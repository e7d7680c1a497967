package extender

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Questions and answers, as Volcano's extenders know them. Fields without a tag
// are spelt on the wire as they are here. What an extender is told is a part of
// what Volcano tells: fields that Muster has nothing to say about are left out.

type sessionOpenRequest struct {
	Nodes    map[string]*nodeInfo
	Queues   map[string]*queueInfo
	NodeList []string
}

type predicateRequest struct {
	Task *taskInfo `json:"task"`
	Node *nodeInfo `json:"node"`
}

// predicateResponse has had three forms over the years: a text in errorMessage,
// a text in status with a code, and a list in status.
type predicateResponse struct {
	Status       json.RawMessage `json:"status"`
	ErrorMessage string          `json:"errorMessage"`
	Code         int             `json:"code"`
}

// refusal is why a node will not do; empty when it will.
func (r *predicateResponse) refusal() (string, error) {
	if r.ErrorMessage != "" {
		return r.ErrorMessage, nil
	}
	var text string
	var list []struct {
		Code   int
		Reason string
	}
	if len(r.Status) > 0 && json.Unmarshal(r.Status, &text) != nil {
		if err := json.Unmarshal(r.Status, &list); err != nil {
			return "", fmt.Errorf("its answer is not what was asked for: status %s: give a text", short(string(r.Status)))
		}
	}
	if text != "" {
		return text, nil
	}
	for _, s := range list {
		if s.Reason != "" {
			return s.Reason, nil
		}
		r.Code = max(r.Code, s.Code)
	}
	if r.Code != 0 {
		return fmt.Sprintf("code %d", r.Code), nil
	}
	return "", nil
}

type prioritizeRequest struct {
	Task  *taskInfo   `json:"task"`
	Nodes []*nodeInfo `json:"nodes"`
}

type prioritizeResponse struct {
	NodeScore    map[string]float64 `json:"nodeScore"`
	ErrorMessage string             `json:"errorMessage"`
}

type jobEnqueueableRequest struct {
	Job *jobInfo `json:"job"`
}

// jobEnqueueableResponse votes: above 0 for, below 0 against, 0 neither.
type jobEnqueueableResponse struct {
	Status int `json:"status"`
}

type queueOverusedRequest struct {
	Queue *queueInfo `json:"queue"`
}

type queueOverusedResponse struct {
	Overused bool `json:"overused"`
}

type eventRequest struct {
	Task *taskInfo `json:"task"`
}

// amounts count cpu in thousandths of a core, memory in bytes and everything
// else in thousandths of a piece.
type amounts struct {
	MilliCPU        float64
	Memory          float64
	ScalarResources map[string]float64 `json:",omitempty"`
	MaxTaskNum      int64              `json:",omitempty"`
}

type taskInfo struct {
	UID        string
	Job        string
	Name       string
	Namespace  string
	TaskRole   string
	Resreq     *amounts
	InitResreq *amounts
	NodeName   string
	Status     int
	Priority   int32
	BestEffort bool
	SchGated   bool
	Pod        *corev1.Pod `json:",omitempty"`
}

// Where a task stands.
const (
	statusPending   = 1 << 0
	statusAllocated = 1 << 1
	statusBound     = 1 << 4
	statusRunning   = 1 << 5
	statusReleasing = 1 << 6
	statusSucceeded = 1 << 7
	statusFailed    = 1 << 8
)

type nodeInfo struct {
	Name        string
	Node        *corev1.Node `json:",omitempty"`
	State       nodeState
	Releasing   *amounts
	Pipelined   *amounts
	Idle        *amounts
	Used        *amounts
	Allocatable *amounts
	Capacity    *amounts
	Tasks       map[string]*taskInfo // by namespace/name
}

type nodeState struct {
	Phase  int // 1: ready, 2: not
	Reason string
}

type jobInfo struct {
	UID              string
	PgUID            string
	Name             string
	Namespace        string
	Queue            string
	Priority         int32
	MinAvailable     int32
	TaskMinAvailable map[string]int32
	Allocated        *amounts
	TotalRequest     *amounts
	Tasks            map[string]*taskInfo // by UID
	PodGroup         any
}

type queueInfo struct {
	UID         string
	Name        string
	Parent      string
	Weight      int32
	Weights     string
	Hierarchy   string
	Priority    int32
	State       string
	Capability  corev1.ResourceList
	Deserved    corev1.ResourceList
	Guarantee   guarantee
	Allocated   corev1.ResourceList
	Annotations map[string]string
}

type guarantee struct {
	Resource corev1.ResourceList `json:"resource,omitempty"`
}

// split divides "namespace/name".
func split(key string) (namespace, name string) {
	namespace, name, _ = strings.Cut(key, "/")
	return namespace, name
}
