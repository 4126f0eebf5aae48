package about

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// Names of the events by which people sort a tape. They are entries, so a push shares them.
const (
	StarEvent = "tape.star" // data.starred: whether the tape has a star from here on
	TagEvent  = "tape.tag"  // data.add and data.remove: lists of tags
)

const (
	maxTags    = 20
	longestTag = 40 // characters
)

// TagOf returns the form in which a tag is kept: lower case, without a leading #. Errors: ErrInvalid for a text that is
// empty, longer than 40 characters, or has spaces, commas or control characters.
func TagOf(text string) (string, error) {
	tag := Typed(text)
	bad := strings.ContainsFunc(tag, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsGraphic(r) || r == ',' || r == utf8.RuneError
	})
	if tag == "" || tag[0] == '-' || bad || utf8.RuneCountInString(tag) > longestTag {
		return "", layout.Invalid(fmt.Sprintf("a tag is one word of at most %d characters, without commas", longestTag), "%q cannot be a tag", text)
	}
	return tag, nil
}

// StarData is the data of a star event.
func StarData(starred bool) []byte { return fmt.Appendf(nil, `{"starred":%t}`, starred) }

// TagData is the data of a tag event that adds tags to a tape, or removes some. Errors: those of [TagOf]; ErrInvalid if the
// tape would have more than 20.
func (t Tape) TagData(add, remove []string) ([]byte, error) {
	if n := len(t.Tags) + len(slices.DeleteFunc(slices.Clone(add), func(tag string) bool { return t.HasTags([]string{tag}) })); n > maxTags {
		return nil, layout.Invalid("remove some first", "a session can have at most %d tags", maxTags)
	}
	out := []byte("{")
	for i, list := range [][]string{add, remove} {
		if len(list) == 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, []string{`"add":[`, `"remove":[`}[i]...)
		for j, text := range list {
			tag, err := TagOf(text)
			if err != nil {
				return nil, err
			}
			if j > 0 {
				out = append(out, ',')
			}
			out = jsonl.AppendString(out, tag)
		}
		out = append(out, ']')
	}
	return append(out, '}'), nil
}

// IsLabel reports whether an event of this name says only what a person calls the tape: it is no activity.
func IsLabel(event string) bool {
	return event == TitleEvent || event == StarEvent || event == TagEvent
}

// addLabel takes a star or a tag into account, and reports whether the event has no other purpose. Those of a merged fork
// are the fork's; those in a transcript are not this tape's.
func (t *Tape) addLabel(e layout.Entry, name string) bool {
	if name != StarEvent && name != TagEvent {
		return false
	}
	if jsonl.Get(e.Meta, "origin", "fork") != nil || jsonl.Get(e.Meta, "source") != nil || e.Hidden() {
		return true
	}
	data := jsonl.Get(e.Payload, "data")
	if name == StarEvent {
		t.Starred = string(jsonl.Get(data, "starred")) == "true"
		return true
	}
	t.Tags = slices.Clone(t.Tags)
	for _, text := range jsonl.Strings(jsonl.Get(data, "add")) {
		if tag, err := TagOf(text); err == nil && len(t.Tags) < maxTags && !slices.Contains(t.Tags, tag) {
			t.Tags = append(t.Tags, tag)
		}
	}
	for _, text := range jsonl.Strings(jsonl.Get(data, "remove")) {
		if tag, err := TagOf(text); err == nil {
			t.Tags = slices.DeleteFunc(t.Tags, func(has string) bool { return has == tag })
		}
	}
	if slices.Sort(t.Tags); len(t.Tags) == 0 {
		t.Tags = nil
	}
	return true
}

// Typed returns a tag as tapes have it: people also write #WIP for wip.
func Typed(tag string) string { return strings.ToLower(strings.TrimPrefix(tag, "#")) }

// HasTags reports whether a tape has all of some tags.
func (t Tape) HasTags(tags []string) bool {
	for _, tag := range tags {
		if !slices.Contains(t.Tags, Typed(tag)) {
			return false
		}
	}
	return true
}

// Mark is something about a session that is worth a look. It is no grade: it only says what happened.
type Mark string

// The marks.
const (
	FailedAtEnd Mark = "failed_at_end" // it ended with an error, or its last call failed
	FailedAgain Mark = "failed_again"  // the same call failed three times
)

// String is the mark as people read it.
func (m Mark) String() string {
	switch m {
	case FailedAtEnd:
		return "ended in failures"
	case FailedAgain:
		return "same call failed 3 times"
	}
	return string(m)
}

// MarksText says what a session's marks mean, in one line.
func MarksText(marks []Mark) string {
	texts := make([]string, len(marks))
	for i, m := range marks {
		texts[i] = m.String()
	}
	return strings.Join(texts, ", ")
}

// Brief is the mark in a narrow column.
func (m Mark) Brief() string {
	switch m {
	case FailedAtEnd:
		return "failed end"
	case FailedAgain:
		return "failed 3×"
	}
	return string(m)
}
