package agentside

import (
	"fmt"
	"path/filepath"
	"strings"

	"tape/internal/show/display"
)

// kinds are files in no known format, by what their names have in common.
type kinds struct{ list []kind }

type kind struct {
	name  string
	files int
	first string // path of one of them
}

// mostKinds is how many kinds are named.
const mostKinds = 8

func (k *kinds) add(path string) {
	name := kindOf(filepath.Base(path))
	for i := range k.list {
		if k.list[i].name == name {
			k.list[i].files++
			return
		}
	}
	k.list = append(k.list, kind{name, 1, path})
}

// kindOf returns what the names of files of one kind have in common: the word before the first underscore or dash, and
// the end. What else a name has, with a number in it, is different in each.
func kindOf(base string) string {
	stem, ext, _ := strings.Cut(base, ".")
	if word, _, ok := strings.Cut(strings.ReplaceAll(stem, "-", "_"), "_"); ok && !strings.ContainsAny(word, "0123456789") {
		return stem[:len(word)+1] + "*." + ext
	}
	if strings.ContainsAny(stem, "0123456789") {
		return "*." + ext
	}
	return base
}

// lines says a line for each kind; short shortens a path.
func (k *kinds) lines(short func(path string) string) (out []string) {
	rest := 0
	for i, one := range k.list {
		switch {
		case i >= mostKinds:
			rest += one.files
		case one.files == 1:
			out = append(out, "left out: "+short(one.first)+" is in no known format")
		default:
			out = append(out, fmt.Sprintf("left out: %s named %s are in no known format, such as %s", display.Count(one.files, "file", "files"), display.Line(one.name), short(one.first)))
		}
	}
	if rest > 0 {
		out = append(out, fmt.Sprintf("left out: %s of other names", display.Count(rest, "file", "files")))
	}
	return out
}
