package web

import (
	"net/url"
	"strconv"
	"time"

	"tape/internal/serve/links"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

// sharePage shows the links to a session.
type sharePage struct {
	Tape, Title string
	Made        string // the address of the link that was just made, which is shown once
	Near        bool   // only this machine can open that link
	Links       []sharedLink
}

type sharedLink struct {
	ID      int
	Created time.Time
	Expires string
}

func storeOf(t *repo.Tape) *repo.Store { return (*repo.Store)((*workspace.Tape)(t).Store()) }

// links shows the links to a session that work.
func (s *View) links(r *request) error {
	t, err := r.tape()
	if err != nil {
		return err
	}
	return s.showLinks(r, t, "")
}

func (s *View) showLinks(r *request, t *repo.Tape, made string) error {
	all, err := links.All(storeOf(t), s.Now())
	if err != nil {
		return err
	}
	d := sharePage{Tape: t.Name(), Title: s.titleOf(r, t.Name()), Made: made}
	if u, err := url.Parse(made); err == nil {
		d.Near = u.Hostname() == "127.0.0.1" || u.Hostname() == "::1" || u.Hostname() == "localhost"
	}
	for _, l := range all {
		if l.Tape == t.Name() {
			d.Links = append(d.Links, sharedLink{l.ID, l.Created, l.Expires.Local().Format(display.Minute)})
		}
	}
	return s.show(r, "links", d.Title, d)
}

// addLink makes a link that works for a number of days, and returns its address.
func (s *View) addLink(r *request, t *repo.Tape, days string) (string, error) {
	n, err := strconv.Atoi(days)
	if err != nil || n < 1 || n > 365 {
		return "", layout.Invalid("give 1 to 365", "a link cannot work for %q days", days)
	}
	address := links.Address(storeOf(t))
	if address == "" {
		return "", layout.NotFound("start the server again", "this server's address is not known")
	}
	_, code, err := links.Add(r.Context(), storeOf(t), t, s.Now(), s.Now().AddDate(0, 0, n))
	return address + links.Path + code, err
}

// endLink revokes a link to a session.
func (s *View) endLink(r *request, t *repo.Tape, number string) error {
	id, err := strconv.Atoi(number)
	if err != nil {
		return layout.Invalid("", "%q is not the number of a link", number)
	}
	_, err = links.Revoke(r.Context(), storeOf(t), id, s.Now())
	return err
}
