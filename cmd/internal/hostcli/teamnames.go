package hostcli

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/catalog"
	"tape/internal/store/layout"
)

// shortNames returns how sessions are called on a screen, by REMOTE/TAPE: the tape's part is short, as the commands take
// it. Elsewhere, names are whole.
func shortNames[T any](out *stdio.Streams, list []T, of func(T) (remote, tape string)) map[string]string {
	tapes := make([]string, len(list))
	for i, one := range list {
		_, tapes[i] = of(one)
	}
	short := map[string]string{}
	if out.Screen().Out {
		short = catalog.ShortNames(tapes)
	}
	names := map[string]string{}
	for _, one := range list {
		remote, tape := of(one)
		names[remote+"/"+tape] = remote + "/" + cmp.Or(short[tape], tape)
	}
	return names
}

// numbered returns the session that a number of the last list stands for, or else the name itself.
func numbered(out *stdio.Streams, name string) string {
	if n, err := strconv.Atoi(name); err == nil && n > 0 {
		if shown, ok := out.NumberOf(listOfTeam, n); ok {
			return shown.Tape
		}
	}
	return name
}

// fullName returns the REMOTE/TAPE that a name stands for: the beginning of a name, or the name of a tape without its
// remote. A name that is known nowhere is returned as it is: the server says what is wrong with it.
func (c *teamClient) fullName(ctx context.Context, name string) (string, error) {
	remote, tape, _ := strings.Cut(name, "/")
	found, err := c.beginning(ctx, remote, tape)
	if err == nil && len(found) == 0 { // without the remote
		found, err = c.beginning(ctx, "", name)
	}
	if errors.Is(err, layout.ErrNotFound) {
		return name, nil
	}
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 0:
		return name, nil
	case 1:
		return found[0], nil
	}
	const most = 8
	hint := strings.Join(found[:min(len(found), most)], "\n")
	return "", layout.Invalid(hint, "the names of %d sessions of the team begin with %q; give more of it", len(found), name)
}

// beginning returns the names, REMOTE/TAPE, of the sessions of a remote ("" means all) whose names begin so; a whole name
// alone, if there is one.
func (c *teamClient) beginning(ctx context.Context, remote, tape string) (found []string, err error) {
	if tape == "" {
		return nil, nil
	}
	q := url.Values{"grep": {tape}, "forks": {"true"}, "limit": {"100"}}
	if remote != "" {
		q.Set("remote", remote)
	}
	var whole []string
	_, err = each(ctx, c, "/v1/sessions", q, func(s teamSession) bool {
		if s.Tape == tape {
			whole = append(whole, s.Remote+"/"+s.Tape)
		}
		if len(catalog.MatchNames([]string{s.Tape}, strings.Split(tape, "/"))) == 1 {
			found = append(found, s.Remote+"/"+s.Tape)
		}
		return true
	})
	if len(whole) > 0 {
		found = whole
	}
	return found, err
}
