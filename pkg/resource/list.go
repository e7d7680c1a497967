// Package resource does arithmetic on amounts of named resources: lists as
// users write them and dense vectors as the engine compares them. It knows no
// Kubernetes type and does no I/O.
//
// Units: cpu counts in thousandths of a core, memory and storage in bytes,
// everything else (GPUs, pods) in whole pieces.
package resource

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Names of the resources whose unit is not "pieces" or that the engine itself counts.
const (
	CPU              = "cpu"
	Memory           = "memory"
	EphemeralStorage = "ephemeral-storage"
	Pods             = "pods"
)

// Amount is how much of one resource.
type Amount struct {
	Name  string
	Value int64
}

// List holds amounts sorted by name, each name once. The zero value is empty.
type List []Amount

// ListOf sorts amounts into a List. Amounts of the same name are added up.
func ListOf(amounts map[string]int64) List {
	list := make(List, 0, len(amounts))
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		list = append(list, Amount{Name: name, Value: amounts[name]})
	}
	return list
}

// Get returns the amount of name and whether the list names it at all.
func (l List) Get(name string) (int64, bool) {
	i, ok := slices.BinarySearchFunc(l, name, func(a Amount, n string) int { return cmp.Compare(a.Name, n) })
	if !ok {
		return 0, false
	}
	return l[i].Value, true
}

// Negative returns the first amount below zero, if there is one.
func (l List) Negative() (Amount, bool) {
	for _, a := range l {
		if a.Value < 0 {
			return a, true
		}
	}
	return Amount{}, false
}

// String prints the list as users write it, for example "cpu 2, nvidia.com/gpu 8".
func (l List) String() string {
	parts := make([]string, len(l))
	for i, a := range l {
		parts[i] = a.Name + " " + Format(a.Name, a.Value)
	}
	return strings.Join(parts, ", ")
}

// Format prints value with the unit in which users write the resource name:
// "1500m" or "2" for cpu, "16Gi" for memory and storage, plain pieces otherwise.
func Format(name string, value int64) string {
	switch {
	case name == CPU && value%1000 != 0:
		return strconv.FormatInt(value, 10) + "m"
	case name == CPU:
		return strconv.FormatInt(value/1000, 10)
	case Bytes(name):
		return formatBytes(value)
	default:
		return strconv.FormatInt(value, 10)
	}
}

// IsName reports whether a word can be the name of a resource: one of Kubernetes'
// own, or one with a domain.
func IsName(word string) bool {
	switch word {
	case CPU, Memory, EphemeralStorage, Pods:
		return true
	}
	return strings.HasPrefix(word, "hugepages-") || strings.Contains(word, "/")
}

// Bytes reports whether the resource name, or the dimension of devices that it names, is counted in bytes.
func Bytes(name string) bool {
	if dimension, _, ok := strings.Cut(name, ".deviceclass/"); ok {
		name = dimension
	}
	return name == Memory || name == EphemeralStorage || strings.HasPrefix(name, "hugepages-") || strings.HasSuffix(name, "storage")
}

func formatBytes(value int64) string {
	units := [...]string{"", "Ki", "Mi", "Gi", "Ti", "Pi"}
	i := 0
	for i < len(units)-1 && value != 0 && value%1024 == 0 {
		value /= 1024
		i++
	}
	return strconv.FormatInt(value, 10) + units[i]
}

// Add returns a+b, held at the ends of the int64 range instead of wrapping.
func Add(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	default:
		return a + b
	}
}
