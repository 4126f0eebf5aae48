package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/gitconfig"
	"tape/internal/git/gitstore"
)

// Why a remote cannot be added: the name is taken, or the refs of one remote would be in the folder
// of another's.
var (
	ErrExists = errors.New("it already exists")
	ErrNested = errors.New("its name is a folder above or below another remote's")
)

// Remote is a repository that git's configuration gives a name.
type Remote struct {
	Name    string
	URL     string
	PushURL string // where pushes go; empty: to URL
}

// pushTo returns the address that pushes go to.
func (m Remote) pushTo() string { return cmp.Or(m.PushURL, m.URL) }

// transportWho stands in reflogs for who deleted the refs of a removed remote.
var transportWho = gitstore.Signature{Name: "tape", Email: "tape@localhost"}

// Remotes returns the remotes that git's configuration names, sorted by name. It leaves out those with a
// bad name or no address.
func Remotes(r *gitstore.Repo) []Remote {
	var out []Remote
	for _, e := range r.Config().ReadAll() {
		if e.Section != "remote" || e.Subsection == "" || CheckRemoteName(e.Subsection) != nil {
			continue
		}
		i := slices.IndexFunc(out, func(m Remote) bool { return m.Name == e.Subsection })
		if i < 0 {
			i = len(out)
			out = append(out, Remote{Name: e.Subsection})
		}
		switch { // git fetches from the first of several; an empty value clears those before it
		case e.Key == "url" && (out[i].URL == "" || e.Value == ""):
			out[i].URL = e.Value
		case e.Key == "pushurl" && (out[i].PushURL == "" || e.Value == ""):
			out[i].PushURL = e.Value
		}
	}
	out = slices.DeleteFunc(out, func(m Remote) bool { return m.URL == "" })
	slices.SortStableFunc(out, func(a, b Remote) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// AddRemote adds a remote to git's configuration, so that a plain git fetch works too. A path is made
// absolute. Errors: ErrExists, ErrNested; a bad name or address.
func AddRemote(ctx context.Context, r *gitstore.Repo, name, address string) error {
	if err := CheckRemoteName(name); err != nil {
		return err
	}
	if err := CheckURL(address); err != nil {
		return err
	}
	if isLocalPath(address) {
		abs, err := filepath.Abs(address)
		if err != nil {
			return err
		}
		address = abs
	}
	lines := "[remote \"" + name + "\"]\n\turl = " + gitconfig.Quote(address) + "\n\tfetch = +refs/heads/*:refs/remotes/" + name + "/*\n"
	err := r.Config().Edit(ctx, func(old []byte) ([]byte, error) {
		before, err := gitconfig.Entries(old)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(before, func(e gitconfig.Entry) bool { return e.Section == "remote" && e.Subsection == name }) {
			return nil, ErrExists
		}
		if slices.ContainsFunc(before, func(e gitconfig.Entry) bool { return e.Section == "remote" && areNested(e.Subsection, name) }) {
			return nil, ErrNested
		}
		next := slices.Clone(old)
		if len(next) > 0 && next[len(next)-1] != '\n' {
			next = append(next, '\n')
		}
		next = append(next, lines...)
		after, err := gitconfig.Entries(next)
		if err != nil {
			return nil, err
		}
		if len(after) != len(before)+2 || !slices.Equal(after[:len(before)], before) || after[len(before)].Value != address {
			return nil, errors.New("tape cannot edit this configuration; do it with git remote add")
		}
		return next, nil
	})
	return gitstore.Wrap(err, "add remote %q", name)
}

// areNested reports whether the refs of one remote would be in the folder of the other's.
func areNested(a, b string) bool {
	return strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// RemoveRemote removes a remote from git's configuration, and the refs that were fetched from it.
// Errors: ErrNotFound if the repository's own configuration does not have it.
func RemoveRemote(ctx context.Context, r *gitstore.Repo, name string) error {
	if err := CheckRemoteName(name); err != nil {
		return err
	}
	return gitstore.Wrap(removeRemote(ctx, r, name), "remove remote %q", name)
}

func removeRemote(ctx context.Context, r *gitstore.Repo, name string) error {
	raw, err := os.ReadFile(r.Config().Path())
	if err == nil {
		_, err = withoutRemote(raw, name)
	}
	if err != nil {
		return err
	}
	// First the refs: if we are cut off, the remote is still there and can be removed again.
	var updates []gitstore.RefUpdate
	for _, prefix := range []string{"refs/remotes/" + name + "/", gitstore.RemoteRefs(name), gitstore.FetchedRefs(name)} {
		if err := r.RemoveSymbolicRef(ctx, prefix+"HEAD"); err != nil {
			return err
		}
		refs, err := r.Refs(prefix)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			updates = append(updates, gitstore.RefUpdate{Name: ref.Name, Old: ref.Hash, Who: transportWho})
		}
	}
	if err := r.UpdateRefs(ctx, updates); err != nil {
		return err
	}
	return r.Config().Edit(ctx, func(old []byte) ([]byte, error) { return withoutRemote(old, name) })
}

// withoutRemote returns a configuration without the sections of a remote.
func withoutRemote(old []byte, name string) ([]byte, error) {
	concerns := func(e gitconfig.Entry) bool { return e.Section == "remote" && e.Subsection == name }
	before, err := gitconfig.Entries(old)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(before, concerns) {
		return nil, gitstore.ErrNotFound
	}
	var next []byte
	inside := false
	for line := range bytes.Lines(old) {
		if strings.HasPrefix(strings.TrimLeft(string(line), " \t"), "[") {
			section, subsection, ok := gitconfig.Header(string(line))
			inside = ok && section == "remote" && subsection == name
		}
		if !inside {
			next = append(next, line...)
		}
	}
	after, err := gitconfig.Entries(next)
	if err != nil || !slices.Equal(after, slices.DeleteFunc(before, concerns)) {
		return nil, errors.New("tape cannot edit this configuration; do it with git remote remove")
	}
	return next, nil
}

// findRemote finds a remote by name. Anything else with a slash, backslash or colon, or that cannot be a
// name, is taken for an address. Errors: ErrNotFound.
func findRemote(r *gitstore.Repo, name string) (Remote, error) {
	all := Remotes(r)
	if i := slices.IndexFunc(all, func(m Remote) bool { return m.Name == name }); i >= 0 {
		return all[i], nil
	}
	if CheckRemoteName(name) == nil && !strings.ContainsAny(name, `/\:`) {
		return Remote{}, fmt.Errorf("remote %q: %w", name, gitstore.ErrNotFound)
	}
	if err := CheckURL(name); err != nil {
		return Remote{}, err
	}
	var err error
	if isLocalPath(name) {
		name, err = filepath.Abs(name)
	}
	return Remote{URL: name}, err
}

// resolveRemote finds the remote that git is to talk to, and refuses it if the configuration rewrites
// it to an address that CheckURL refuses, or if it cannot be served safely from a path.
func resolveRemote(ctx context.Context, r *gitstore.Repo, name string, push bool) (Remote, error) {
	m, err := findRemote(r, name)
	if err != nil {
		return m, err
	}
	from, to := fetchAddress(r, m), pushAddress(r, m)
	if err := errors.Join(CheckURL(from), CheckURL(to)); err != nil {
		return m, err
	}
	if push {
		return m, checkServed(ctx, r, to, true)
	}
	return m, checkServed(ctx, r, from, false)
}

// fetchAddress returns the address that fetches use, after insteadOf.
func fetchAddress(r *gitstore.Repo, m Remote) string { return rewriteAddress(r, m.URL, "insteadof") }

// pushAddress returns the address that pushes use, after pushInsteadOf and insteadOf. Like git, it applies
// pushInsteadOf only to a remote without a push URL.
func pushAddress(r *gitstore.Repo, m Remote) string {
	if m.PushURL != "" {
		return rewriteAddress(r, m.PushURL, "insteadof")
	}
	return rewriteAddress(r, m.URL, "pushinsteadof", "insteadof")
}

// rewriteAddress applies url.<base>.insteadOf, and for a push pushInsteadOf first.
func rewriteAddress(r *gitstore.Repo, address string, keys ...string) string {
	for _, key := range keys {
		best, out := 0, address
		for _, e := range r.Config().ReadAll() {
			if e.Section == "url" && e.Key == key && len(e.Value) > best && strings.HasPrefix(address, e.Value) {
				best, out = len(e.Value), e.Subsection+address[len(e.Value):]
			}
		}
		if best > 0 {
			return out
		}
	}
	return address
}

// localDir returns the folder that an address names, if it names one. Like git, it takes a relative path from
// rootDir.
func localDir(r *gitstore.Repo, address string) (string, bool) {
	dir, ok := LocalDir(address)
	dir = gitconfig.ExpandHome(dir, gitconfig.HomeDir())
	if ok && !filepath.IsAbs(dir) && !strings.HasPrefix(dir, "~") {
		dir = filepath.Join(rootDir(r), dir)
	}
	return dir, ok
}
