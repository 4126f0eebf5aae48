package activity

import (
	"hash/crc32"
	"slices"
	"strings"

	"tape/internal/store/about"
)

// again counts how often a call failed.
type again struct {
	Same uint64
	N    int
}

// How often the same call must fail to be marked, and of how many calls that is counted.
const (
	oftenFailed = 3
	maxFailures = 32
)

// identify sets Run, and Same to a number that is the same for calls that do the same: the same command, or the same
// arguments. It is 0 for a call without arguments.
func (c *call) identify(what effect, args []byte) {
	tool := c.Tool
	if what == shell { // agents describe the same command in different words
		if command, dir := commandOf(args); command != "" {
			c.Run = display(command)
			tool, args = dir, []byte(command)
		}
	}
	if len(args) == 0 {
		return
	}
	table := crc32.IEEETable
	c.Same = uint64(crc32.Checksum(args, table))<<32 | uint64(crc32.Update(uint32(len(args)), table, []byte(tool))) //nolint:gosec // only told apart
}

// display returns the beginning of a command, on one line.
func display(command string) string {
	const most = 60 // bytes
	line := strings.Join(strings.Fields(command[:min(len(command), 4*most)]), " ")
	if len(line) > most || len(command) > 4*most {
		line = strings.ToValidUTF8(line[:min(len(line), most)], "") + "…"
	}
	return line
}

func (s *Session) countFailure(c call) {
	if s.Again || c.Same == 0 {
		return
	}
	i := slices.IndexFunc(s.Failures, func(a again) bool { return a.Same == c.Same })
	n := 1
	if i >= 0 {
		n += s.Failures[i].N
		s.Failures = slices.Delete(s.Failures, i, i+1)
	}
	if n >= oftenFailed {
		s.Again, s.Failures = true, nil
		return
	}
	if len(s.Failures) == maxFailures {
		s.Failures = s.Failures[1:]
	}
	s.Failures = append(s.Failures, again{c.Same, n})
}

// Marks returns what is worth a look about the session so far.
func (s *Session) Marks() (marks []about.Mark) {
	if s.Ending == Failed || s.LastFailed && s.Ending != Interrupted {
		marks = append(marks, about.FailedAtEnd)
	}
	if s.Again {
		marks = append(marks, about.FailedAgain)
	}
	return marks
}
