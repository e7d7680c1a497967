package resource

import "math"

// Table numbers resource names in the order in which they are first seen, so
// that vectors can be plain slices. The zero value is ready to use. Numbers
// are never given back: clusters know few resource names. Pods may name any, though, and
// vectors have room for all: names beyond [MostNames] share a number, and what nodes have
// of them does not count, so that who asks for one waits.
type Table struct {
	names []string
	index map[string]int
}

// MostNames is how many names have a number each, and Others what further ones are called.
const (
	MostNames = 1000
	Others    = "further resources, of which no node has any"
)

// Dim returns the number of name, giving it one when it is new.
func (t *Table) Dim(name string) int {
	if d, ok := t.index[name]; ok {
		return d
	}
	if len(t.names) >= MostNames && name != Others {
		return t.Dim(Others)
	}
	if t.index == nil {
		t.index = map[string]int{}
	}
	d := len(t.names)
	t.names = append(t.names, name)
	t.index[name] = d
	return d
}

// Name returns the name with number dim. It panics when dim was never given out.
func (t *Table) Name(dim int) string { return t.names[dim] }

// Len is how many numbers were given out.
func (t *Table) Len() int { return len(t.names) }

// Most is the largest amount that a vector takes from a list: 8 PiB, or as many
// pieces. A thousand of them still add up without an overflow.
const Most = 1 << 53

// Vector turns a list into a vector. Names the list lacks count 0. Amounts below 0
// count 0, and those above Most count Most: who writes them is told elsewhere, and
// sums stay sums.
func (t *Table) Vector(l List) Vector {
	var v Vector
	for _, a := range l {
		v.Set(t.Dim(a.Name), min(max(a.Value, 0), Most))
	}
	return v
}

// Stock is the vector of what there is of resources, on a node for instance.
func (t *Table) Stock(l List) Vector {
	v := t.Vector(l)
	if d, ok := t.index[Others]; ok && d < len(v) {
		v[d] = 0
	}
	return v
}

// List turns a vector back into a list of its amounts that are not 0.
func (t *Table) List(v Vector) List {
	amounts := make(map[string]int64, len(v))
	for d, n := range v {
		if n != 0 {
			amounts[t.names[d]] = n
		}
	}
	return ListOf(amounts)
}

// Vector holds one amount per dimension of a Table. Dimensions past its end
// count 0, so vectors of different lengths mix freely.
type Vector []int64

// At returns the amount in dim.
func (v Vector) At(dim int) int64 {
	if dim < len(v) {
		return v[dim]
	}
	return 0
}

// Set puts amount n into dim, growing the vector when needed.
func (v *Vector) Set(dim int, n int64) {
	for len(*v) <= dim {
		*v = append(*v, 0)
	}
	(*v)[dim] = n
}

// Add adds times copies of o to v. A negative times takes away: what was added and
// taken away again leaves no trace, even if the sum was beyond 64 bits in between.
func (v *Vector) Add(o Vector, times int64) {
	for d, n := range o {
		if n != 0 && times != 0 {
			v.Set(d, v.At(d)+n*times)
		}
	}
}

// Is reports whether v and o are one and the same, not only equal.
func (v Vector) Is(o Vector) bool { return len(v) == len(o) && (len(v) == 0 || &v[0] == &o[0]) }

// Dims lists the dimensions in which v is above 0.
func (v Vector) Dims() []int {
	dims := make([]int, 0, len(v))
	for d, n := range v {
		if n > 0 {
			dims = append(dims, d)
		}
	}
	return dims
}

// Times returns how many whole copies of req fit in v: 0 when there is no room
// and math.MaxInt64 when req asks for nothing.
func (v Vector) Times(req Vector) int64 {
	fit := int64(math.MaxInt64)
	for d, want := range req {
		if want <= 0 {
			continue
		}
		have := v.At(d)
		if have < want {
			return 0
		}
		fit = min(fit, have/want)
	}
	return fit
}
