package chatui

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// completion is a list of what the word before the cursor can become.
type completion struct {
	before string // the text before the word
	after  string
	items  []string
	at     int  // index of the chosen item; -1: none
	common bool // next was called: only its first call offers what all items begin with
}

// mostFiles is how many files and folders are listed at most, and listed how many candidates are shown at once.
const (
	mostFiles = 50_000
	listed    = 8
)

// complete finds what the word before the cursor can become; nil if it cannot be completed. known has the words
// that lookUp has found, by kind. cursor counts code points.
func complete(known map[string][]string, text string, cursor int) *completion {
	runes := []rune(text)
	cursor = min(cursor, len(runes))
	before, after := string(runes[:cursor]), string(runes[cursor:])
	start := strings.LastIndexAny(before, " \n") + 1
	word := before[start:]
	var from []string
	switch {
	case strings.HasPrefix(word, "@"):
		from = matching(known["files"], word[1:])
		for i := range from {
			from[i] = "@" + from[i]
		}
	case start == 0 && strings.HasPrefix(word, ","):
		from = beginning(known["commands"], word)
	case start == 0 && strings.HasPrefix(word, "/"):
		from = beginning(slices.Sorted(maps.Keys(slashes())), word)
	case slices.Contains([]string{",model", "/model"}, strings.TrimSpace(before[:start])):
		from = matching(known["models"], word)
	case slices.Contains([]string{",sessions", "/sessions", "/resume"}, strings.TrimSpace(before[:start])):
		from = matching(known["sessions"], word)
	}
	from = slices.DeleteFunc(from, func(s string) bool { return s == word })
	if len(from) == 0 {
		return nil
	}
	return &completion{before: before[:start], after: after, items: from, at: -1}
}

// next returns the word for the next press of Tab: first what all items begin with, if that is more
// than was typed, then each item.
func (c *completion) next(typed string) string {
	if !c.common {
		c.common = true
		if common := commonPrefix(c.items); len(common) > len(typed) && len(c.items) > 1 && strings.HasPrefix(common, typed) {
			return common
		}
	}
	c.at = (c.at + 1) % len(c.items)
	return c.items[c.at]
}

func commonPrefix(items []string) string {
	out := items[0]
	for _, s := range items[1:] {
		for !strings.HasPrefix(s, out) {
			out = out[:len(out)-1]
		}
	}
	return strings.ToValidUTF8(out, "")
}

// beginning returns the elements that begin with a word.
func beginning(list []string, word string) (out []string) {
	for _, s := range list {
		if strings.HasPrefix(s, word) {
			out = append(out, s)
		}
	}
	return out
}

// matching returns the elements that begin with a word; if there are none, those that contain it in any case.
func matching(list []string, word string) []string {
	if out := beginning(list, word); len(out) > 0 {
		return out
	}
	var out []string
	for _, s := range list {
		if strings.Contains(strings.ToLower(s), strings.ToLower(word)) {
			out = append(out, s)
		}
	}
	return out
}

// files lists the project's files and folders, without hidden folders and folders of dependencies, and without
// names with spaces.
func files(ctx context.Context, dir string) (out []string) {
	_ = fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error { // what cannot be read is left out
		switch {
		case ctx.Err() != nil || len(out) >= mostFiles:
			return fs.SkipAll
		case err != nil:
			return fs.SkipDir
		case path == ".":
			return nil
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "vendor"):
			return fs.SkipDir
		case strings.ContainsAny(path, " \n"):
			return nil
		case d.IsDir():
			path += "/"
		}
		out = append(out, filepath.ToSlash(path))
		return nil
	})
	return out
}
