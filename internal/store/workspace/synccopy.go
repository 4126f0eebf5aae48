package workspace

import (
	"regexp"
	"strings"
	"sync"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// copyName is the name that Syncthing, Nextcloud and ownCloud give to their copy of a file that was changed on two
// machines. Names with spaces, which other programs give, are no names of refs.
var copyName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+?)[._-](?:sync-)?conflict(?:ed)?-\d{8}(?:-\d{4,6})?(?:-[A-Z0-9]{6,7})?$`)
})

// CopyOf returns the branch of which a program that synchronizes folders has made a ref as a copy, "" if the ref is none:
// the name says so, and the newest commit is of the other branch's tape.
func (s *Store) CopyOf(ref gitstore.Ref) (branch string) {
	of := s.NamedAsCopyOf(ref.Name)
	if of == "" {
		return ""
	}
	c, err := s.git.Commit(ref.Hash)
	if err != nil || layout.BranchOf(layout.DecodeTrailer(c.Trailer(layout.TrailerName)), of) != of {
		return ""
	}
	return of
}

// NamedAsCopyOf returns the ref of which another one is a copy by its name, "" if it is none or there is no such ref.
func (s *Store) NamedAsCopyOf(name string) string {
	if !strings.Contains(name, "conflict") {
		return ""
	}
	m := copyName().FindStringSubmatch(name)
	if m == nil {
		return ""
	}
	if _, err := s.git.Ref(m[1]); err != nil {
		return ""
	}
	return m[1]
}

// errCopy says that a ref is a copy of another one.
func errCopy(of string) error {
	return &layout.Error{Class: layout.ErrConflict, Msg: "a program that synchronizes folders made it, as a copy of " + strings.TrimPrefix(of, "refs/heads/"),
		Way: []layout.Hint{{Kind: layout.RemoveCopy}}}
}
