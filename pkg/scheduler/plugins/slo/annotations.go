package slo

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/pkg/model"
)

const (
	prefix        = "scheduling.volcano.sh/slo-"
	deadlineKey   = prefix + "deadline"
	estimateKey   = prefix + "running-estimate"
	progressKey   = prefix + "progress"
	throughputKey = prefix + "min-throughput"
	rateKey       = prefix + "throughput"
	replicasKey   = prefix + "min-replicas"
)

// whole is all of the work, in the unit of progress: hundredths of a percent.
const whole = 10_000

// wishes is what annotations say.
type wishes struct {
	deadline int64 // in milliseconds
	due      bool  // there is a deadline
	text     string
	estimate int64 // in milliseconds; 0: none
	progress int64 // of whole; -1: none
	replicas int32 // 0: none
	slow     bool  // it reports less than it was promised
	speed    int64 // what it was promised of what it reports, in thousandths; 0: one is not given
}

// promised reports whether a gang was promised something.
func promised(g *model.Gang) bool {
	if !g.Known || len(g.Annotations) == 0 {
		return false
	}
	for _, key := range []string{deadlineKey, throughputKey, replicasKey} {
		if _, ok := g.Annotations[key]; ok {
			return true
		}
	}
	return false
}

// wishesOf reads annotations; wrong says what could not be read.
func wishesOf(annotations map[string]string) (w wishes, wrong []string) {
	read := func(key, remedy string, parse func(text string) error) {
		text, ok := annotations[key]
		if !ok {
			return
		}
		if err := parse(strings.TrimSpace(text)); err != nil {
			wrong = append(wrong, fmt.Sprintf("annotation %s is %q and counts as not given: give %s", key, text, remedy))
		}
	}
	w.progress = -1
	read(deadlineKey, "an instant such as 2026-06-01T00:00:00Z", func(text string) error {
		at, err := time.Parse(time.RFC3339, text)
		if err == nil {
			w.deadline, w.due, w.text = at.UnixMilli(), true, text
		}
		return err
	})
	read(estimateKey, "a duration above 0, such as 90m or 1h30m", func(text string) error {
		d, err := time.ParseDuration(text)
		if err == nil && d < time.Millisecond {
			return errRange
		}
		if err == nil {
			w.estimate = d.Milliseconds()
		}
		return err
	})
	read(progressKey, "a fraction such as 0.4, or a percentage such as 40%", func(text string) error {
		p, err := fraction(text)
		if err == nil {
			w.progress = p
		}
		return err
	})
	read(replicasKey, "a whole number of 1 or more", func(text string) error {
		n, err := strconv.ParseInt(text, 10, 32)
		if err == nil && n < 1 {
			return errRange
		}
		if err == nil {
			w.replicas = int32(n)
		}
		return err
	})
	var least, rate *apiresource.Quantity
	read(throughputKey, "a number above 0, such as 1500 or 2.5k", func(text string) error {
		q, err := number(text)
		if err == nil && q.Sign() <= 0 {
			return errRange
		}
		least = q
		return err
	})
	read(rateKey, "a number of 0 or more, such as 1500 or 2.5k", func(text string) error {
		q, err := number(text)
		rate = q
		return err
	})
	if least != nil && rate != nil {
		w.slow = rate.Cmp(*least) < 0
		w.speed = ratio(least.AsApproximateFloat64(), rate.AsApproximateFloat64())
	}
	return w, wrong
}

var errRange = errors.New("out of range")

// fraction reads 0.4 or 40%, of whole.
func fraction(text string) (int64, error) {
	text, percent := strings.CutSuffix(text, "%")
	q, err := number(text)
	if err != nil {
		return 0, err
	}
	scale := apiresource.Scale(-4)
	if percent {
		scale = -2
	}
	if q.CmpInt64(1000) > 0 {
		return 0, errRange
	}
	if n := q.ScaledValue(scale); n <= whole {
		return n, nil
	}
	return 0, errRange
}

// number reads a number of 0 or more. Exponents are not for people, and may be beyond all bounds.
func number(text string) (*apiresource.Quantity, error) {
	if strings.ContainsAny(text, "eE") {
		return nil, errRange
	}
	q, err := apiresource.ParseQuantity(text)
	if err != nil {
		return nil, err
	}
	if q.Sign() < 0 {
		return nil, errRange
	}
	return &q, nil
}

// ratio is a/b in thousandths, at most most. It is for people: nothing is decided by it.
func ratio(a, b float64) int64 {
	if b <= 0 || a/b*1000 > mostUrgent {
		return mostUrgent
	}
	return int64(a / b * 1000)
}

// Notices names the annotations that can't be read, and what would be right.
func (p *plugin) Notices(g *model.Gang) []string {
	if len(g.Annotations) == 0 {
		return nil
	}
	_, wrong := wishesOf(g.Annotations)
	return wrong
}
