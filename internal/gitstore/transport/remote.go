package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"tape/internal/gitstore"
	"tape/internal/gitstore/gitconfig"
)

// Why a remote is not added: there is one of that name already, or one whose refs would be in
// the folder of its own.
var (
	ErrExists = errors.New("exists already")
	ErrNested = errors.New("is called like a folder above or below another remote")
)

// Remote is another repository that git's configuration gives a name.
type Remote struct {
	Name    string
	URL     string
	PushURL string // where pushes go; empty: to URL
}

// pushTo is where pushes go.
func (m Remote) pushTo() string {
	if m.PushURL != "" {
		return m.PushURL
	}
	return m.URL
}

// transportWho is who reflogs say moved a ref that came from another side.
var transportWho = gitstore.Signature{Name: "tape", Email: "tape@localhost"}

// Remotes returns the remotes that git's configuration names, sorted by name.
func Remotes(r *gitstore.Repo) ([]Remote, error) {
	var out []Remote
	for _, e := range r.Config().Fresh() {
		if e.Section != "remote" || e.Subsection == "" || CheckRemoteName(e.Subsection) != nil {
			continue
		}
		i := slices.IndexFunc(out, func(m Remote) bool { return m.Name == e.Subsection })
		if i < 0 {
			i = len(out)
			out = append(out, Remote{Name: e.Subsection})
		}
		switch { // of several addresses git fetches from the first
		case e.Key == "url" && out[i].URL == "":
			out[i].URL = e.Value
		case e.Key == "pushurl" && out[i].PushURL == "":
			out[i].PushURL = e.Value
		}
	}
	out = slices.DeleteFunc(out, func(m Remote) bool { return m.URL == "" })
	slices.SortFunc(out, func(a, b Remote) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// AddRemote names another repository in git's configuration, so that a plain git fetch
// works, too. A path is made absolute. Errors: ErrExists and ErrNested, wrapped; one that says
// what is wrong with the name or the address.
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
			return nil, errors.New("the configuration is written in a way that cannot be added to; do it with git remote add")
		}
		return next, nil
	})
	if err != nil {
		return fmt.Errorf("add remote %q: %w", name, err)
	}
	return nil
}

// areNested reports whether the refs of one name would be in the folder of the other's.
func areNested(a, b string) bool {
	return strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// RemoveRemote takes a remote out of git's configuration, and the refs that hold what was
// fetched from it. Errors: ErrNotFound, wrapped, without such a remote in the repository's
// own configuration.
func RemoveRemote(ctx context.Context, r *gitstore.Repo, name string) error {
	if err := CheckRemoteName(name); err != nil {
		return err
	}
	raw, err := os.ReadFile(r.Config().Path())
	if err == nil {
		_, err = withoutRemote(raw, name)
	}
	if err != nil {
		return fmt.Errorf("remove remote %q: %w", name, err)
	}
	// First the refs: cut off in between, the remote is still there, and can be removed again.
	var updates []gitstore.RefUpdate
	for _, prefix := range []string{"refs/remotes/" + name + "/", gitstore.RemoteRefs(name), gitstore.FetchedRefs(name)} {
		if err := r.RemoveSymbolicRef(ctx, prefix+"HEAD"); err != nil {
			return fmt.Errorf("remove remote %q: %w", name, err)
		}
		refs, err := r.Refs(prefix)
		if err != nil {
			return fmt.Errorf("remove remote %q: %w", name, err)
		}
		for _, ref := range refs {
			updates = append(updates, gitstore.RefUpdate{Name: ref.Name, Old: ref.Hash, Who: transportWho})
		}
	}
	err = r.UpdateRefs(ctx, updates)
	if err == nil {
		err = r.Config().Edit(ctx, func(old []byte) ([]byte, error) { return withoutRemote(old, name) })
	}
	if err != nil {
		return fmt.Errorf("remove remote %q: %w", name, err)
	}
	return nil
}

// withoutRemote cuts the sections of a remote out of a configuration.
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
		return nil, errors.New("the configuration is written in a way that cannot be edited; do it with git remote remove")
	}
	return next, nil
}

// findRemote finds a remote by name; what is no name of one is taken for an address.
func findRemote(r *gitstore.Repo, name string) (Remote, error) {
	all, err := Remotes(r)
	if err != nil {
		return Remote{}, err
	}
	if i := slices.IndexFunc(all, func(m Remote) bool { return m.Name == name }); i >= 0 {
		return all[i], nil
	}
	if CheckRemoteName(name) == nil && !strings.ContainsAny(name, `/\:`) {
		return Remote{}, fmt.Errorf("remote %q: %w", name, gitstore.ErrNotFound)
	}
	if err := CheckURL(name); err != nil {
		return Remote{}, err
	}
	if isLocalPath(name) {
		name, err = filepath.Abs(name)
	}
	return Remote{URL: name}, err
}

// approach finds a remote that git is to talk to, and refuses it if the configuration leads
// to an address that CheckURL refuses.
func approach(r *gitstore.Repo, name string) (Remote, error) {
	m, err := findRemote(r, name)
	if err != nil {
		return m, err
	}
	pushKeys := []string{"pushinsteadof", "insteadof"}
	if m.PushURL != "" {
		pushKeys = pushKeys[1:]
	}
	return m, errors.Join(CheckURL(fetchAddress(r, m)), CheckURL(rewritten(r, m.pushTo(), pushKeys...)))
}

// fetchAddress is where a remote is fetched from in the end.
func fetchAddress(r *gitstore.Repo, m Remote) string { return rewritten(r, m.URL, "insteadof") }

// rewritten applies url.<base>.insteadOf, and for a push pushInsteadOf first.
func rewritten(r *gitstore.Repo, address string, keys ...string) string {
	for _, key := range keys {
		best, out := 0, address
		for _, e := range r.Config().Fresh() {
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

// fetchDir is the folder that a remote is fetched from, if it is one on this machine.
func fetchDir(r *gitstore.Repo, m Remote) (string, bool) { return localDir(r, fetchAddress(r, m)) }

// localDir is the folder of an address; a relative one of the configuration begins where
// git lets it begin.
func localDir(r *gitstore.Repo, address string) (string, bool) {
	dir, ok := LocalDir(address)
	if ok && !filepath.IsAbs(dir) {
		dir = filepath.Join(rootDir(r), dir)
	}
	return dir, ok
}

// CheckRemoteName says what is wrong with the name of a remote, by git's rules: it is part
// of the names of refs.
func CheckRemoteName(name string) error {
	err := gitstore.CheckRefName("refs/remotes/" + name)
	switch {
	case strings.HasPrefix(name, "-"):
		err = errors.New("it begins with a dash")
	case strings.ContainsAny(name, "\"\\"):
		err = errors.New("it has a quotation mark or backslash")
	}
	if err != nil {
		return fmt.Errorf("bad name %q of a remote: %w", name, err)
	}
	return nil
}

// schemes are the ways to a remote that are used.
var schemes = []string{"file", "ssh", "git+ssh", "ssh+git", "http", "https", "git"}

// CheckURL refuses addresses that git would take for an option or a program to run, and
// ways to a remote other than a path, file, ssh, http, https and git.
func CheckURL(address string) error {
	bad := func(why string) error { return fmt.Errorf("bad address %q of a remote: %s", MaskURL(address), why) }
	switch {
	case address == "":
		return errors.New("the address of the remote is empty")
	case strings.HasPrefix(address, "-"):
		return bad("it begins with a dash")
	case strings.ContainsFunc(address, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return bad("it has a control character")
	}
	if helper, _, ok := strings.Cut(address, "::"); ok && !strings.ContainsAny(helper, "/[@.") {
		return bad("addresses that name a helper program are not used")
	}
	scheme, rest, ok := strings.Cut(address, "://")
	if ok && !strings.ContainsAny(scheme, "/:") {
		if !slices.Contains(schemes, strings.ToLower(scheme)) {
			return bad("use a path, file://, ssh://, https:// or user@host:path")
		}
		if strings.HasPrefix(rest, "-") {
			return bad("the host begins with a dash")
		}
	}
	if host, path, ok := scpAddress(address); ok {
		_, host = cutUser(host)
		if strings.HasPrefix(host, "-") || strings.HasPrefix(path, "-") {
			return bad("the host or path begins with a dash")
		}
	}
	return nil
}

func cutUser(s string) (user, host string) {
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		return s[:at], s[at+1:]
	}
	return "", s
}

// scpAddress takes host:path apart, git's short form of an ssh address.
func scpAddress(address string) (host, path string, ok bool) {
	if strings.Contains(address, "://") {
		return "", "", false
	}
	host, path, ok = strings.Cut(address, ":")
	if ok && strings.Contains(host, "[") { // an IPv6 address in brackets
		end := strings.Index(address, "]:")
		if end < 0 {
			return "", "", false
		}
		host, path = address[:end+1], address[end+2:]
	}
	if !ok || host == "" || strings.ContainsAny(host, `/\`) || runtime.GOOS == "windows" && len(host) == 1 {
		return "", "", false
	}
	return host, path, true
}

// isLocalPath reports whether an address is a path, and not a file:// one.
func isLocalPath(address string) bool {
	_, _, scp := scpAddress(address)
	return !scp && !strings.Contains(address, "://")
}

// LocalDir returns the folder that an address names: a path or file://.
func LocalDir(address string) (dir string, ok bool) {
	if isLocalPath(address) {
		return address, true
	}
	if len(address) < len("file://") || !strings.EqualFold(address[:len("file://")], "file://") {
		return "", false
	}
	dir = address[len("file://"):]
	if un, err := url.PathUnescape(dir); err == nil {
		dir = un
	}
	if runtime.GOOS == "windows" {
		dir = strings.TrimPrefix(dir, "/")
	}
	return filepath.FromSlash(dir), true
}

func isHTTP(address string) bool {
	scheme, _, ok := strings.Cut(strings.ToLower(address), "://")
	return ok && (scheme == "http" || scheme == "https")
}

// MaskURL hides a password, or a token, that an address has in it. Paths stay as they are.
func MaskURL(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return maskScp(address)
	}
	host, path, slash := strings.Cut(rest, "/")
	user, host := cutUser(host)
	http := isHTTP(address)
	out := scheme + "://"
	if user != "" {
		out += maskUser(user, http) + "@"
	}
	if out += host; slash {
		out += "/" + path
	}
	if before, _, query := strings.Cut(out, "?"); query && http {
		out = before + "?" + hidden
	}
	return out
}

// hidden stands for what is not shown.
const hidden = "***"

// maskUser hides the secret before an @. Over http a token may stand in the name's place,
// with nothing of importance behind it.
func maskUser(user string, http bool) string {
	name, pass, secret := strings.Cut(user, ":")
	switch {
	case http && (pass == "" || pass == "x-oauth-basic"):
		return hidden
	case secret:
		return name + ":" + hidden
	}
	return user
}

// maskScp does it for an http address whose beginning was left out: it is taken for that of
// a host and a path.
func maskScp(address string) string {
	host, path, ok := scpAddress(address)
	before, _, _ := strings.Cut(path, "/")
	if at := strings.LastIndexByte(before, '@'); ok && at >= 0 {
		return host + ":" + hidden + path[at:]
	}
	return address
}
