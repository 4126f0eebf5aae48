package audit

import (
	"fmt"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A remote may choose the names of its refs so that the file systems here cannot store them. Only names
// that this program makes are accepted.

// incomingName has the parts of a ref's name.
type incomingName struct {
	prefix string // of tapes, forks, tags or archives
	slug   string // of the tape; of a fork's parent; of the tape or fork that a tag belongs to
	rest   string // the fork's slug, the tag's folder, the archive's stamp
}

// parseIncoming parses the name of a ref. It must be one that this program makes.
func parseIncoming(ref string) (n incomingName, err error) {
	prefix, name := layout.CutRef(ref)
	slug, rest, two := strings.Cut(name, "/")
	n = incomingName{prefix, slug, rest}
	switch {
	case n.prefix == "":
		return n, refusedName(ref, "it is not the name of a tape, fork, handoff or archive")
	case gitstore.CheckRefName(ref) != nil, two != (n.prefix != layout.BranchPrefix), strings.Contains(n.rest, "/"):
		return n, refusedName(ref, "it leads out of its folder, or is not a valid name in git")
	}
	err = canonicalSlug(n.slug)
	switch {
	case err != nil:
	case n.prefix == layout.ForkPrefix:
		err = canonicalSlug(n.rest)
	case n.prefix == layout.TagPrefix:
		if _, slug, ok := layout.ParseFolder(n.rest); !ok || slug != layout.Slugify(slug, layout.SlugLimit) {
			err = fmt.Errorf("%.100q is not the folder of a phase", n.rest)
		}
	case n.prefix == layout.ArchivePrefix && !isStamp(n.rest):
		err = fmt.Errorf("%.100q is not the stamp of an archive", n.rest)
	}
	if err != nil {
		return n, refusedName(ref, err.Error())
	}
	return n, nil
}

func refusedName(ref, why string) error {
	return layout.Refused("rename or delete it there", "the remote's ref %.200q has a name that is not used here: %s", ref, why)
}

// canonicalSlug refuses a text that is not the slug of any name. It cannot check a hash at the end:
// only the commit has the name.
func canonicalSlug(s string) error {
	switch {
	case !utf8.ValidString(s) || s != layout.Slugify(s, layout.SlugLimit) || s == "":
		return fmt.Errorf("%.100q is not a slug", s)
	case layout.IsPlainSlug(s):
		return nil
	case s[0] == '-' || s[0] == '.':
		return fmt.Errorf("%.100q begins with %q", s, s[0])
	case layout.EndsInHash(s):
		return nil
	case layout.IsDeviceName(s):
		return fmt.Errorf("%.100q is the name of a device on some systems", s)
	}
	return fmt.Errorf("%.100q would be another name on some file systems, and has no hash at its end", s)
}

// isStamp reports whether s is the stamp of an archive: a time in seconds or microseconds.
func isStamp(s string) bool {
	return slices.ContainsFunc([]string{"20060102T150405Z", "20060102T150405.000000Z"}, func(form string) bool {
		at, err := time.Parse(form, s)
		return err == nil && at.Format(form) == s
	})
}

// CheckNames returns which refs of a remote cannot be used because of their names, and why: this
// program does not make such a name, or a file system that ignores case or normalizes Unicode could
// take two names for the same.
func CheckNames(refs []string) map[string]error {
	out := map[string]error{}
	same := map[string][]string{}
	for _, ref := range refs {
		if _, err := parseIncoming(ref); err != nil {
			out[ref] = err
			continue
		}
		key := foldName(ref)
		same[key] = append(same[key], ref)
	}
	for _, group := range same {
		for i, ref := range group {
			if len(group) > 1 {
				out[ref] = refusedName(ref, fmt.Sprintf("some file systems take it for %.200q", group[(i+1)%len(group)]))
			}
		}
	}
	return out
}

// foldName returns the same text for names that some file system takes for the same: it normalizes,
// folds width and case, and drops invisible characters.
func foldName(name string) string {
	fold := func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
			return -1
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}
	return norm.NFKC.String(strings.Map(fold, norm.NFKC.String(name)))
}
