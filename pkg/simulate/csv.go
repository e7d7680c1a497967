package simulate

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// readCSV reads jobs, one a line below a line of column names. Lines that begin with # are left out.
func readCSV(file string, data []byte) ([]*draft, Faults) {
	in := csv.NewReader(bytes.NewReader(data))
	in.Comment, in.FieldsPerRecord, in.TrimLeadingSpace, in.ReuseRecord = '#', -1, true, true
	t := table{file: file}
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return t.drafts, t.faults
		}
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			t.faults = append(t.faults, Fault{File: file, Line: bad.Line, What: "this is no CSV: " + bad.Err.Error(), Remedy: `put a value with quotes in it in quotes, and double those, as in "a ""b"""`})
			continue
		}
		if err != nil {
			t.faults = append(t.faults, Fault{File: file, What: "this is no CSV: " + err.Error(), Remedy: "write one job a line"})
			return t.drafts, t.faults
		}
		line, _ := in.FieldPos(0)
		switch {
		case t.heads != nil:
			t.row(line, record)
		case !t.head(line, record):
			return nil, t.faults
		}
	}
}

// table is the CSV as far as it was read.
type table struct {
	file   string
	heads  []column
	drafts []*draft
	faults Faults
}

// head reads the names of the columns.
func (t *table) head(line int, record []string) bool {
	all := columns()
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.name
	}
	met := map[string]bool{}
	for _, name := range record {
		name = strings.ToLower(strings.TrimSpace(name))
		i := slices.Index(names, name)
		switch {
		case i < 0:
			t.faults = append(t.faults, unknown(place{t.file, line}, "column", name, names))
			continue
		case met[name]:
			t.faults = append(t.faults, Fault{File: t.file, Line: line, Field: "column " + name, What: "is there twice", Remedy: "keep one"})
		}
		met[name] = true
		t.heads = append(t.heads, all[i])
	}
	for _, c := range all {
		if c.must && !met[c.name] {
			t.faults = append(t.faults, Fault{File: t.file, Line: line, Field: "column " + c.name, What: "is not there", Remedy: c.remedy})
		}
	}
	return len(t.faults) == 0
}

// row reads one job.
func (t *table) row(line int, record []string) {
	d := newDraft(place{t.file, line})
	t.drafts = append(t.drafts, d)
	if len(record) != len(t.heads) {
		d.bad = true
		t.faults = append(t.faults, Fault{
			File: t.file, Line: line, What: fmt.Sprintf("there are %d values under %d columns", len(record), len(t.heads)),
			Remedy: "write one value for each column, nothing between commas for those that it lacks",
		})
		return
	}
	for i, c := range t.heads {
		value := strings.TrimSpace(record[i])
		remedy := c.remedy
		if value != "" {
			remedy = c.read(d, value)
		}
		if remedy != "" && (value != "" || c.must) {
			d.bad = true
			t.faults = append(t.faults, Fault{File: t.file, Line: line, Field: "column " + c.name, Value: value, Remedy: remedy})
		}
	}
}
