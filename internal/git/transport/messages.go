package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"tape/internal/git/gitstore"
)

// stderrTail keeps the end of git's messages, and passes all of them to progress.
type stderrTail struct {
	progress io.Writer
	kept     []byte
}

const tailBytes = 64 << 10

func (t *stderrTail) Write(p []byte) (int, error) {
	if t.progress != nil {
		_, _ = t.progress.Write(withoutControls(p)) // a closed terminal does not stop the transport
	}
	t.kept = append(t.kept, p...)
	if len(t.kept) > tailBytes {
		t.kept = withoutRefs(t.kept)
	}
	if len(t.kept) > tailBytes {
		t.kept = bytes.Clone(t.kept[len(t.kept)-tailBytes/2:])
	}
	return len(p), nil
}

// withoutRefs drops the lines about refs: there may be many around the line that says what went wrong.
func withoutRefs(said []byte) (out []byte) {
	for line := range bytes.Lines(said) {
		if !refLine().Match(line) {
			out = append(out, line...)
		}
	}
	return out
}

func (t *stderrTail) String() string { return string(t.kept) }

// lazy compiles an expression when it is first needed: most commands never talk to a remote.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

var (
	refLine   = lazy(`^ [ *+=t-] .* -> `)
	gitNoise  = lazy(`^(hint: |Cloning into |remote: Total |To |From |Everything up-to-date|error: failed to push some refs|Pushing to |POST git-)`)
	gitMeter  = lazy(`^(remote: )?[A-Z][a-zA-Z ]+:? +\d+(% \(\d+/\d+\)|,? done|$)`)
	secretURL = lazy(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s'"]+`)
	// a ref that changed after git had read it
	movedRef = lazy(`(?m)cannot lock ref '[^'\n]+': (?:is at |reference already exists|reference is missing|unable to resolve reference '[^'\n]+'$)`)
)

// messageLines returns the lines of git's messages that are not empty. Git ends a remote's lines with the
// terminal's sequence that clears the rest of a line, and progress with a carriage return.
func messageLines(stderr string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(stderr, "\x1b[K", ""), func(c rune) bool { return c == '\r' || c == '\n' })
}

// explain returns what git's messages say about why it failed, without hints, progress, headings,
// and passwords in addresses: of more than 20 lines, the first and the last ten.
func explain(stderr string) string {
	var out []string
	for _, line := range messageLines(stderr) {
		line = printable(strings.TrimRight(line, " \t"))
		if line == "" || gitNoise().MatchString(line) || refLine().MatchString(line) || gitMeter().MatchString(line) || strings.Contains(line, "[rejected]") {
			continue
		}
		out = append(out, secretURL().ReplaceAllStringFunc(line, MaskURL))
	}
	const most = 20
	if len(out) > most {
		out = append(out[:most/2], out[len(out)-most/2:]...)
	}
	return strings.Join(out, "\n")
}

// printable drops control characters, which a terminal would obey, and invalid text.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c != '\n' && !unicode.IsGraphic(c) || c == utf8.RuneError {
			return -1
		}
		return c
	}, strings.ReplaceAll(s, "\t", " "))
}

// withoutControls drops control characters, except tabs and ends of lines, from a remote's text: a
// terminal would obey them.
func withoutControls(p []byte) []byte {
	return slices.DeleteFunc(slices.Clone(p), func(c byte) bool { return c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f })
}

// classify adds the kind of an error to a gitError. A full disk or a lost connection also makes git
// report a damaged pack, so these are checked first.
func classify(err error) error {
	var failed *gitError
	if !errors.As(err, &failed) {
		return err
	}
	said := strings.ToLower(failed.stderr)
	contains := func(list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(said, s) })
	}
	switch {
	case contains(saysLocal):
		return err
	case contains(saysAuth):
		return fmt.Errorf("%w: %w", ErrAuth, err)
	case contains([]string{"repository corruption on the remote side"}): // the line is cut after this
		return fmt.Errorf("%w: %w", ErrHostile, err)
	case contains([]string{"early eof", "hung up", "rpc failed", "unexpected disconnect"}):
		return fmt.Errorf("%w: %w", ErrRemote, err)
	case contains([]string{"couldn't find remote ref"}):
		return fmt.Errorf("%w: %w", gitstore.ErrNotFound, err)
	case contains(saysHostile):
		return fmt.Errorf("%w: %w", ErrHostile, err)
	}
	return fmt.Errorf("%w: %w", ErrRemote, err)
}
