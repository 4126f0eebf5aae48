package find

import (
	"bytes"
	"slices"
)

// lineFilter has strings that a stored line contains, as it is written, if its entry matches.
type lineFilter struct {
	needles []needle   // the line has one of these; nil: any line may match
	also    [][]needle // and it has one of each group
}

// lineFinder finds the stored lines of files that may match, without decoding them.
type lineFinder struct {
	lineFilter
	finder needleFinder
	first  []needle // needles of the filter, then that of the extra text
	file   []byte
}

// Lines returns a finder of lines that also finds the lines with an extra text, unless that is "".
func (s *Scanner) Lines(text string) *lineFinder {
	l := &lineFinder{lineFilter: s.filter, first: s.filter.needles}
	if text != "" {
		l.first = appendNeedles(slices.Clip(l.first), text, false)
	}
	return l
}

// Reset starts over with another file.
func (l *lineFinder) Reset(file []byte) {
	l.file = file
	l.finder.reset(l.first, file)
}

// Next returns the first offset at or after from at which a line may match, or
// the length of the file. The lines that it skips do not match.
func (l *lineFinder) Next(from int) int {
	for len(l.needles) > 0 {
		at, which := l.finder.next(from)
		if at == len(l.file) || which >= len(l.needles) {
			return at
		}
		end := len(l.file)
		if i := bytes.IndexByte(l.file[at:], '\n'); i >= 0 {
			end = at + i
		}
		if l.hasAll(l.file[bytes.LastIndexByte(l.file[:at], '\n')+1 : end]) {
			return at
		}
		from = end
	}
	return from
}

// hasAll reports whether a line has one needle of each group of also.
func (l *lineFinder) hasAll(line []byte) bool {
	for _, group := range l.also {
		if !slices.ContainsFunc(group, func(n needle) bool { return n.index(line) >= 0 }) {
			return false
		}
	}
	return true
}
