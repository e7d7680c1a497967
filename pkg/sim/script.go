// Package sim runs the engine on virtual time, told by a script: nodes, queues
// and gangs in, cycles, and what was decided out. The same language serves
// tests, bug reports and what-if questions.
//
// A script is blocks, apart by blank lines. A block is commands, a line "----",
// and what the commands print:
//
//	# Two nodes of 8; the gang needs three.
//	node n1 gpu=8
//	node n2 gpu=8
//	gang big min=3 tasks=3 gpu=8
//	cycle
//	----
//	refuse big: the gang needs 3 ...
//
// Commands are listed at [Sim.Do].
package sim

import (
	"fmt"
	"strings"
)

// Separator stands between a block's commands and what they print.
const Separator = "----"

// Block is a part of a script.
type Block struct {
	Lines []string // commands and comments
	Want  []string // what the commands print
}

// Parse cuts a script into blocks.
func Parse(text string) []Block {
	var blocks []Block
	var b Block
	wants := false
	flush := func() {
		if len(b.Lines)+len(b.Want) > 0 {
			blocks = append(blocks, b)
		}
		b, wants = Block{}, false
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case line == "":
			flush()
		case line == Separator:
			wants = true
		case wants:
			b.Want = append(b.Want, line)
		default:
			b.Lines = append(b.Lines, line)
		}
	}
	flush()
	return blocks
}

// Format is the inverse of Parse.
func Format(blocks []Block) string {
	var out strings.Builder
	for i, b := range blocks {
		if i > 0 {
			out.WriteString("\n")
		}
		for _, line := range b.Lines {
			out.WriteString(line + "\n")
		}
		out.WriteString(Separator + "\n")
		for _, line := range b.Want {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// Run carries out the commands of every block on s and returns the blocks with
// what was printed. The error names the line that can't be carried out.
func Run(s *Sim, blocks []Block) ([]Block, error) {
	out := make([]Block, len(blocks))
	for i, b := range blocks {
		out[i].Lines = b.Lines
		for _, line := range b.Lines {
			printed, err := s.Do(line)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			out[i].Want = append(out[i].Want, printed...)
		}
	}
	return out, nil
}
