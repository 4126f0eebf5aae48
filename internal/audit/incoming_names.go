package audit

import (
	"fmt"
	"strings"
	"tape/internal/gitstore"
	"tape/internal/layout"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Names of refs come from a remote as they are there, which may be on purpose what no
// file system here can hold. Only those are used that this program makes.

// refKind is what a ref of a remote holds.
type refKind int

// The kinds of refs.
const (
	kindTape refKind = iota
	kindFork
	kindTag
	KindArchive
)

// incomingName is a ref's name, taken apart.
type incomingName struct {
	Kind refKind
	slug string // of the tape; of a fork's parent; of the tape or fork that a tag is of
	rest string // the fork's slug, the tag's folder, the archive's stamp
}

// parseIncoming takes the name of a ref apart, and refuses any that this program would
// not have made.
func parseIncoming(ref string) (incomingName, error) {
	n, parts, err := CutIncoming(ref)
	if err != nil {
		return n, err
	}
	wantParts := 2
	if n.Kind == kindTape {
		wantParts = 1
	}
	if err := gitstore.CheckRefName(ref); err != nil || len(parts) != wantParts {
		return n, refusedName(ref, "it leads out of its folder, or is none that git has")
	}
	n.slug = parts[0]
	if err := canonicalSlug(n.slug); err != nil {
		return n, refusedName(ref, err.Error())
	}
	if wantParts == 1 {
		return n, nil
	}
	n.rest = parts[1]
	switch n.Kind {
	case kindFork:
		err = canonicalSlug(n.rest)
	case kindTag:
		if _, slug, ok := layout.ParseFolder(n.rest); !ok || slug != layout.Slugify(slug, layout.SlugLimit) {
			err = fmt.Errorf("%.100q is not the folder of a phase", n.rest)
		}
	case KindArchive:
		if !isStamp(n.rest) {
			err = fmt.Errorf("%.100q is not the stamp of an archive", n.rest)
		}
	}
	if err != nil {
		return n, refusedName(ref, err.Error())
	}
	return n, nil
}

// CutIncoming takes a ref's name apart, without judging it.
func CutIncoming(ref string) (n incomingName, parts []string, err error) {
	for kind, prefix := range [...]string{kindTape: layout.BranchPrefix, kindFork: layout.ForkPrefix, kindTag: layout.TagPrefix, KindArchive: layout.ArchivePrefix} {
		if rest, ok := strings.CutPrefix(ref, prefix); ok {
			return incomingName{Kind: refKind(kind)}, strings.Split(rest, "/"), nil
		}
	}
	return n, nil, refusedName(ref, "it is none of a tape, fork, handoff or archive")
}

func refusedName(ref, why string) error {
	return layout.Refused("rename or delete it there", "the remote's ref %.200q has a name that is not used here: %s", ref, why)
}

// canonicalSlug refuses what tapeSlug makes of no name. Whether a hash at the end is that
// of the name, only the commit can tell.
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
		return fmt.Errorf("%.100q is a device on some systems", s)
	}
	return fmt.Errorf("%.100q would be another name on some file systems, and has no hash at its end", s)
}

func isStamp(s string) bool {
	for _, layout := range []string{stampLayout, stampLayoutFine} {
		if at, err := time.Parse(layout, s); err == nil && at.Format(layout) == s {
			return true
		}
	}
	return false
}

// The stamps that archives have.
const (
	stampLayout     = "20060102T150405Z"
	stampLayoutFine = "20060102T150405.000000Z"
)

// CheckNames tells which of the refs of a remote cannot be used because of their names,
// and why: those that this program does not make, and those that one file or folder
// would stand for where a file system folds case, width or accents.
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
				out[ref] = refusedName(ref, fmt.Sprintf("it cannot stand beside %.200q on every file system", group[(i+1)%len(group)]))
			}
		}
	}
	return out
}

// foldName makes names equal that some file system takes for one: it composes, folds
// width and case, and drops what is not seen.
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
