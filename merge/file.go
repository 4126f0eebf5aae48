package merge

import (
	"bytes"

	"tape/internal/store/layout"
	"tape/repo"
)

// Git's names for the two sides of a merge.
const (
	ours   = "ours"
	theirs = "theirs"
)

// File merges one file of a phase, for git's merge driver. It returns ours, then the lines that only
// theirs has. These keep their ids, because one file does not show which ids are free; completing the merge (see
// join.Complete) renumbers them.
//
// If a side does not begin with the base, the error is a *repo.RewrittenError with the name "ours" or
// "theirs".
func File(base, our, their []byte) ([]byte, error) {
	base, our, their = withNewline(base), withNewline(our), withNewline(their)
	if err := begins(our, base, ours); err != nil {
		return nil, err
	}
	if err := begins(their, base, theirs); err != nil {
		return nil, err
	}
	n := common(our, their)
	out := make([]byte, 0, len(our)+len(their)-n)
	return append(append(out, our...), their[n:]...), nil
}

// begins refuses a side that does not begin with the base.
func begins(side, base []byte, name string) error {
	if bytes.HasPrefix(side, base) {
		return nil
	}
	n := common(base, side)
	return &repo.RewrittenError{Name: name, Base: [2][]byte{firstLine(base[n:]), firstLine(side[n:])}}
}

// common returns the length of the complete lines with which both a and b begin.
func common(a, b []byte) int { return bytes.LastIndexByte(a[:layout.SamePrefix(a, b)], '\n') + 1 }

// withNewline ends the last line of a file, which an editor may have left without a newline.
func withNewline(file []byte) []byte {
	if len(file) == 0 || file[len(file)-1] == '\n' {
		return file
	}
	return append(bytes.Clone(file), '\n')
}

// firstLine returns a file's first line without its newline, nil if the file is empty.
func firstLine(file []byte) []byte {
	if len(file) == 0 {
		return nil
	}
	line, _, _ := bytes.Cut(file, []byte("\n"))
	return bytes.Clone(line)
}
