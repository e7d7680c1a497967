package simulate

import (
	"math"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

// Bounds of what is read; they keep sums within 64 bits.
const (
	longest  = 100 * 365 * 24 * time.Hour
	mostPods = 10_000_000
)

// span reads a time: seconds, or as in 1h30m. It may not be below least.
func span(text string, least time.Duration) (time.Duration, string) {
	remedy := "give seconds, as in 90, or a duration, as in 1h30m, of 0 or more"
	if least > 0 {
		remedy = "give seconds, as in 90, or a duration, as in 1h30m, of a millisecond or more"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) {
			return 0, remedy
		}
		if math.Abs(n) > longest.Seconds() {
			return 0, "give at most a hundred years"
		}
		d = time.Duration(math.Round(n*1000)) * time.Millisecond
	}
	d = d.Round(time.Millisecond)
	switch {
	case d < least:
		return 0, remedy
	case d > longest:
		return 0, "give at most a hundred years"
	}
	return d, ""
}

// number reads a whole number between two.
func number(text string, least, most int64) (int64, string) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, "give a whole number from " + strconv.FormatInt(least, 10) + " to " + strconv.FormatInt(most, 10)
	}
	return n, ""
}

// quantity reads an amount of a resource, as Kubernetes writes it.
func quantity(name, text string) (int64, string) {
	q, err := apiresource.ParseQuantity(text)
	if err != nil || q.Sign() < 0 {
		return 0, "give a quantity of 0 or more, such as 4, 500m or 16Gi"
	}
	n := model.Units(corev1.ResourceName(name), q)
	if n > resource.Most {
		return 0, "give at most " + mostOf(name)
	}
	return n, ""
}

// mostOf is the largest amount of a resource that is read, and that all jobs may ask for.
func mostOf(name string) string {
	q := asQuantity(resource.Amount{Name: name, Value: resource.Most})
	return q.String()
}

// resourceName is the full name of a resource: gpu and gpus stand for [GPU].
func resourceName(word string) string {
	if word == "gpu" || word == "gpus" {
		return GPU
	}
	return word
}

// jobName says what is wrong with the name of a job.
func jobName(text string) string {
	if text == "" || len(text) > 200 || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '/' || r == 0x7f }) {
		return "give up to 200 letters without blanks and slashes"
	}
	return ""
}

// asQuantity is the inverse of [quantity].
func asQuantity(a resource.Amount) apiresource.Quantity {
	if a.Name == resource.CPU {
		return *apiresource.NewMilliQuantity(a.Value, apiresource.DecimalSI)
	}
	if resource.Bytes(a.Name) {
		return *apiresource.NewQuantity(a.Value, apiresource.BinarySI)
	}
	return *apiresource.NewQuantity(a.Value, apiresource.DecimalSI)
}
