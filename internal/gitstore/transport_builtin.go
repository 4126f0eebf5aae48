package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What is done without the git program: with http and ssh by git's own protocol, with a
// path from one object store to the other.

// maxPack bounds the pack that a remote may send, in bytes.
const maxPack = 16 << 30

// transportWho is who reflogs say moved a ref that came from another side.
var transportWho = Signature{Name: "tape", Email: "tape@localhost"}

// dial finds the way to an address that is no path.
func (r *Repo) dial(address string, o TransportOptions) (line, error) {
	scheme, _, _ := strings.Cut(strings.ToLower(address), "://")
	_, _, scp := scpAddress(address)
	switch {
	case scp || strings.Contains(scheme, "ssh"):
		return &sshLine{r: r, o: o, address: address}, nil
	case scheme == "http" || scheme == "https":
		return newHTTPLine(address, o)
	}
	return nil, fmt.Errorf("%w: for %s the git program is needed, and it is not to be found", ErrRemote, MaskURL(address))
}

// rewritten applies url.<base>.insteadOf, and for a push pushInsteadOf first.
func (r *Repo) rewritten(address string, keys ...string) string {
	for _, key := range keys {
		best, out := 0, address
		for _, e := range r.freshConfig() {
			if e.section == "url" && e.key == key && len(e.value) > best && strings.HasPrefix(address, e.value) {
				best, out = len(e.value), e.subsection+address[len(e.value):]
			}
		}
		if best > 0 {
			return out
		}
	}
	return address
}

// fetchAddress and pushAddress are where the remote is in the end.
func (r *Repo) fetchAddress(m Remote) (string, error) {
	address := r.rewritten(m.URL, "insteadof")
	return address, CheckURL(address)
}

func (r *Repo) pushAddress(m Remote) (string, error) {
	keys := []string{"pushinsteadof", "insteadof"}
	if m.PushURL != "" {
		keys = keys[1:]
	}
	address := r.rewritten(m.pushTo(), keys...)
	return address, CheckURL(address)
}

// talk lets fn use a line, with what the remote told of its refs.
func (r *Repo) talk(ctx context.Context, address, service string, o TransportOptions, fn func(line, *advertised) error) (err error) {
	l, err := r.dial(address, o)
	if err != nil {
		return err
	}
	in, err := l.refs(ctx, service)
	var a *advertised
	if err == nil {
		a, err = readRefs(in)
	}
	if err == nil {
		err = fn(l, a)
	}
	cerr := l.close()
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	var said *gitError
	if cerr != nil && (err == nil || errors.Is(err, ErrRemote) && errors.As(cerr, &said) && said.stderr != "") {
		return cerr // it knows why the remote hung up
	}
	return err
}

func (r *Repo) builtinLsRemote(ctx context.Context, m Remote, o TransportOptions) (refs []Ref, head string, err error) {
	address, err := r.fetchAddress(m)
	if err != nil {
		return nil, "", err
	}
	if dir, ok := r.localDir(address); ok {
		other, err := openLocal(dir)
		if err != nil {
			return nil, "", err
		}
		return other.told()
	}
	err = r.talk(ctx, address, uploadPack, o, func(_ line, a *advertised) error {
		refs, head = a.refs, a.head
		return nil
	})
	return refs, head, err
}

// localDir is the folder of an address; a relative one of the configuration begins where
// git lets it begin.
func (r *Repo) localDir(address string) (string, bool) {
	dir, ok := LocalDir(address)
	if ok && !filepath.IsAbs(dir) {
		dir = filepath.Join(r.rootDir(), dir)
	}
	return dir, ok
}

// told is what a repository here would tell of its refs.
func (r *Repo) told() (refs []Ref, head string, err error) {
	if refs, err = r.Refs("refs/"); err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrRemote, err)
	}
	head, h, err := r.Head(r.gitDir)
	if err != nil || h.IsZero() {
		head = "" // nothing to check out, as git sees it
	}
	return refs, head, nil
}

func (r *Repo) builtinFetch(ctx context.Context, m Remote, specs []RefSpec, before map[string]Hash, o TransportOptions) (head string, err error) {
	address, err := r.fetchAddress(m)
	if err != nil {
		return "", err
	}
	if dir, ok := r.localDir(address); ok {
		return r.copyFrom(ctx, dir, specs, before)
	}
	err = r.talk(ctx, address, uploadPack, o, func(l line, a *advertised) error {
		head = a.head
		if a.shallow {
			return fmt.Errorf("%w: it is a shallow clone: the beginning of its history is missing", ErrRemote)
		}
		after := mapRefs(a.refs, specs)
		known, err := r.known(before)
		if err != nil {
			return err
		}
		if wants := r.wanted(after, before); len(wants) > 0 {
			if !a.can("side-band-64k") {
				return fmt.Errorf("%w: it speaks too old a protocol", ErrRemote)
			}
			request := fetchRequest(a, wants, r.haves(known), o.Progress == nil)
			answer, err := l.ask(ctx, uploadPack, bytes.NewReader(request), int64(len(request)))
			if err != nil {
				return err
			}
			if err := r.receive(ctx, answer, o.Progress); err != nil {
				return err
			}
		}
		return r.accept(ctx, before, after, known)
	})
	return head, err
}

// mapRefs gives the refs here that those of a remote map to.
func mapRefs(refs []Ref, specs []RefSpec) map[string]Hash {
	out := map[string]Hash{}
	for _, ref := range refs {
		for _, s := range specs {
			if name, ok := s.to(ref.Name); ok && CheckRefName(name) == nil {
				out[name] = ref.Hash
			}
		}
	}
	return out
}

// known returns what refs here hold, those that mirror the remote first.
func (r *Repo) known(mirrored map[string]Hash) ([]Hash, error) {
	seen := map[Hash]bool{}
	var out []Hash
	add := func(h Hash) {
		if !seen[h] {
			seen[h] = true
			out = append(out, h)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(mirrored)) {
		add(mirrored[name])
	}
	refs, err := r.Refs("refs/")
	for _, ref := range refs {
		add(ref.Hash)
	}
	return out, err
}

// wanted returns what a remote has and we lack, those first whose refs moved.
func (r *Repo) wanted(after, before map[string]Hash) (wants []Hash) {
	seen := map[Hash]bool{}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if h := after[name]; before[name] != h && !seen[h] && !r.has(h) {
			seen[h] = true
			wants = append(wants, h)
		}
	}
	return wants
}

// haves are commits to tell a remote of: what refs hold, and steps back from the first of
// them, which it knows when the newest of ours were never pushed.
func (r *Repo) haves(known []Hash) []Hash {
	const walks, steps = 16, 64
	out := slices.Clone(known[:min(len(known), maxHaves-walks*steps/4)])
	for _, h := range known[:min(len(known), walks)] {
		h, err := r.Peel(h)
		for range steps {
			c, cerr := r.Commit(h)
			if err != nil || cerr != nil || len(c.Parents) == 0 {
				break
			}
			h = c.Parents[0]
			out = append(out, h)
		}
	}
	return out
}

// receive takes the pack of an answer.
func (r *Repo) receive(ctx context.Context, answer io.Reader, progress io.Writer) error {
	in := &sidebands{p: packets{r: answer}, progress: progress}
	f, err := (&Batch{r: r}).create()
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	defer f.Close()
	n, err := io.Copy(f, io.LimitReader(in, maxPack+1))
	if err != nil {
		return err
	}
	if n > maxPack {
		return hostile("a pack of more than %d bytes", int64(maxPack))
	}
	return r.takePack(ctx, f)
}

// accept makes refs mirror those of a remote, once all that they lead to is here.
func (r *Repo) accept(ctx context.Context, before, after map[string]Hash, known []Hash) error {
	_ = r.objects(true)
	var gone, moved []RefUpdate
	var tips []Hash
	for name, h := range before {
		if _, ok := after[name]; !ok {
			gone = append(gone, RefUpdate{Name: name, Old: h, Who: transportWho})
		}
	}
	for name, h := range after {
		if before[name] != h {
			moved = append(moved, RefUpdate{Name: name, Old: before[name], New: h, Who: transportWho})
			tips = append(tips, h)
		}
	}
	if _, err := r.lacks(ctx, tips, known); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return hostile("it did not send all that its refs lead to, or it is damaged: %w", err)
	}
	if err := r.UpdateRefs(ctx, gone); err != nil { // their names may be in the way of others
		return err
	}
	return r.UpdateRefs(ctx, moved)
}
