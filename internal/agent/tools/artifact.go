package tools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"tape/hooks"
	"tape/internal/show/display"
	"tape/repo"
)

// How long a result may be, and how much of a longer one is shown, in characters.
const (
	LongestResult = 16_384
	previewChars  = 600
	shownOfID     = 12 // a prefix of an id is enough
)

// Keep prepares a tool's result, or its error, for the model and the tape. A text that is too long
// becomes an artifact: then Keep returns a preview, and the artifact that the result's entry has to
// refer to. If the artifact cannot be stored, the preview says why, and the artifact is nil. Keys of
// providers are masked in every result. Other secrets are masked here in long results only; in short
// ones the store masks them, as in every entry.
func (s *Set) Keep(ctx context.Context, c hooks.ToolContext, tool, text string) (string, *repo.Artifact) {
	// Not every provider accepts NUL bytes.
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if s.keys != nil {
		text = masked(text, func(value []byte) []byte { value, _ = s.keys.Mask(value); return value })
	}
	shown, redrawn := text, false
	if printed(tool) {
		shown, redrawn = display.AsShown(text, false)
	}
	chars := utf8.RuneCountInString(shown)
	if chars <= LongestResult && !redrawn {
		return shown, nil
	}
	secret := func(value []byte) []byte { value, _ = s.scanner().Mask(value, nil); return value }
	shown = masked(shown, secret)
	text = masked(text, secret)
	lines := display.Count(strings.Count(shown, "\n")+1, "line", "lines")
	a, err := s.store(ctx, c, tool, text)
	if err != nil && chars <= LongestResult {
		return shown, nil
	}
	if err != nil {
		s.o.Log.Warn("a long result was not kept", "tool", tool, "error", err)
		return fmt.Sprintf("[%s: %d characters in %s; the rest could not be kept: %v]\n%s", tool, chars, lines, err, display.KeepEnds(shown, previewChars/2)), nil
	}
	id := a.ID[:min(len(a.ID), shownOfID)]
	if chars <= LongestResult {
		return fmt.Sprintf("%s\n[what was overwritten on the terminal is left out; the artifact %s has all %d bytes]", strings.TrimSuffix(shown, "\n"), id, len(text)), &a
	}
	return fmt.Sprintf("[%s: %d characters in %s are the artifact %s of %d bytes; artifact.read id=%s offset=0 reads it, artifact.search finds lines]\n%s",
		tool, chars, lines, id, len(text), id, display.KeepEnds(shown, previewChars/2)), &a
}

// printed reports whether a tool's results are what programs have printed, and not texts as they are stored.
func printed(tool string) bool {
	for _, of := range []string{"fs.", "artifact.", "tape."} {
		if strings.HasPrefix(tool, of) {
			return false
		}
	}
	return true
}

func (s *Set) store(ctx context.Context, c hooks.ToolContext, tool, text string) (repo.Artifact, error) {
	if s.o.Tape == nil {
		return repo.Artifact{}, errors.New("this host has no tape for it")
	}
	t, err := s.o.Tape(ctx, c)
	if err != nil {
		return repo.Artifact{}, err
	}
	return t.AddArtifact(ctx, repo.Artifact{MIMEType: "text/plain; charset=utf-8", Name: tool}, strings.NewReader(text))
}

// masked masks a text as the JSON string that it would be in an entry.
func masked(text string, mask func(value []byte) []byte) string {
	value, err := json.Marshal(text)
	if err == nil {
		var out string
		if err = json.Unmarshal(mask(value), &out); err == nil {
			return out
		}
	}
	return "[the text could not be searched for secrets: " + err.Error() + "]"
}

// artifactTools read and search artifacts.
func artifactTools(o Options) []hooks.Tool {
	if o.Tape == nil {
		return nil
	}
	open := func(ctx context.Context, c hooks.ToolContext, id string) (repo.Artifact, io.ReadSeekCloser, error) {
		t, err := o.Tape(ctx, c)
		if err != nil {
			return repo.Artifact{}, nil, err
		}
		info, r, err := t.OpenArtifact(ctx, id)
		a := info.Artifact
		if err != nil {
			return a, nil, err
		}
		head, err := io.ReadAll(io.LimitReader(r, sniffBytes))
		if err == nil {
			err = notText(head)
		}
		if err == nil {
			_, err = r.Seek(0, io.SeekStart)
		}
		if err != nil {
			return a, nil, errors.Join(fmt.Errorf("artifact %s: %w", display.Line(id), err), r.Close())
		}
		return a, r, nil
	}
	id := `"id":{"type":"string","minLength":1}`
	return []hooks.Tool{
		define("artifact.read", "Read a part of a result that was too long to be shown.", id+
			`,"offset":{"type":"integer","minimum":0,"description":"first byte, default 0"},`+
			`"length":{"type":"integer","minimum":1,"description":"bytes, at most 15000"}`, []string{"id"},
			func(ctx context.Context, c hooks.ToolContext, a artifactReadArgs) (string, error) {
				found, r, err := open(ctx, c, a.ID)
				if err != nil {
					return "", err
				}
				defer r.Close()
				return a.piece(found, r)
			}),
		define("artifact.search", "Find lines in a result that was too long to be shown, with the offset of each for artifact.read.", id+
			`,"query":{"type":"string","minLength":1,"description":"regular expression (RE2)"},"ignore_case":{"type":"boolean"},`+
			`"limit":{"type":"integer","minimum":1,"maximum":200,"description":"default 20"}`, []string{"id", "query"},
			func(ctx context.Context, c hooks.ToolContext, a artifactSearchArgs) (string, error) {
				_, r, err := open(ctx, c, a.ID)
				if err != nil {
					return "", err
				}
				defer r.Close()
				return a.find(ctx, r)
			}),
	}
}

type artifactReadArgs struct {
	ID     string `json:"id"`
	Offset int64  `json:"offset"`
	Length int    `json:"length"`
}

// piece returns a page of an artifact's text, at most pageBytes, and says where the next page begins.
func (a artifactReadArgs) piece(found repo.Artifact, r io.ReadSeeker) (string, error) {
	if a.Offset >= found.Size {
		return "", fmt.Errorf("offset %d is past the end: the artifact has %d bytes", a.Offset, found.Size)
	}
	if a.Length == 0 || a.Length > pageBytes {
		a.Length = pageBytes
	}
	if _, err := r.Seek(a.Offset, io.SeekStart); err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(max(a.Length, utf8.UTFMax))))
	if err != nil {
		return "", err
	}
	if whole := wholeRunes(b); len(whole) > 0 {
		b = whole
	}
	next := a.Offset + int64(len(b))
	end := "that is the end"
	if next < found.Size {
		end = fmt.Sprintf("read on with offset=%d", next)
	}
	return fmt.Sprintf("[bytes %d to %d of %d; %s]\n%s", a.Offset, next, found.Size, end, toText(b)), nil
}

type artifactSearchArgs struct {
	ID         string `json:"id"`
	Query      string `json:"query"`
	IgnoreCase bool   `json:"ignore_case"`
	Limit      int    `json:"limit"`
}

// How much of a matching line is shown, and how much of a line is searched at once, in bytes.
const (
	shownOfLine = 300
	longestLine = 64 << 10
)

// find searches a text line by line. A line longer than longestLine is searched in pieces of that size, each of which
// counts as a line.
func (a artifactSearchArgs) find(ctx context.Context, r io.Reader) (string, error) {
	expr := a.Query
	if a.IgnoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return "", fmt.Errorf("query: %w", err)
	}
	if a.Limit == 0 {
		a.Limit = 20
	}
	var out strings.Builder
	lines := bufio.NewReaderSize(r, longestLine)
	found, offset := 0, int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		raw, err := lines.ReadSlice('\n')
		line := bytes.TrimRight(raw, "\r\n") // so that $ matches the end of the line
		if at := re.FindIndex(line); at != nil && len(raw) > 0 {
			if found++; found <= a.Limit && out.Len() < pageBytes-2*shownOfLine {
				from := max(0, at[0]-shownOfLine/2)
				fmt.Fprintf(&out, "offset %d: %s\n", offset+int64(from), clip(toText(line[from:]), shownOfLine))
			}
		}
		offset += int64(len(raw))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
	}
	return fmt.Sprintf("%d lines match\n%s", found, out.String()), nil
}
