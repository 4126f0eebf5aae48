package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"tape/internal/store/about"
	"tape/merge"
	"tape/repo"
)

const maxForm = 1 << 20

// do makes the change that a form asks for.
func (s *View) do(r *request) error {
	if !s.Write {
		return fmt.Errorf("%w: this view is read-only; start the server with --write to allow changes", errForbidden)
	}
	r.Body = http.MaxBytesReader(r.w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return fmt.Errorf("%w: %w", repo.ErrInvalid, err)
	}
	if !sameToken(r.PostForm.Get("token"), formToken(r.Request)) {
		return fmt.Errorf("%w: the form is from another server, or from one that has ended; reload the page", errForbidden)
	}
	t, err := r.tape()
	if err != nil {
		return err
	}
	f, to, made := r.PostForm, url.PathEscape(t.Name()), ""
	switch r.PathValue("what") {
	case "handoff":
		_, err = t.Handoff(r.Context(), repo.Anchor{Name: f.Get("name"), Summary: f.Get("summary")})
	case "fork":
		var fork *repo.Tape
		if fork, err = t.ForkAt(r.Context(), f.Get("name"), f.Get("at")); err == nil {
			to = url.PathEscape(fork.Name())
		}
	case "merge":
		if _, err = merge.BackWith(r.Context(), t, merge.Options{Summary: f.Get("summary")}); err == nil {
			to = url.PathEscape(t.Parent())
		}
	case "rename":
		var data []byte
		if data, err = json.Marshal(map[string]string{"title": f.Get("title")}); err == nil {
			_, err = t.Append(r.Context(), nil, repo.Event(about.TitleEvent, data))
		}
	case "star":
		_, err = t.Append(r.Context(), nil, repo.Event(about.StarEvent, about.StarData(f.Get("starred") == "true")))
	case "tag":
		err = s.setTags(r, t, strings.FieldsFunc(f.Get("tags"), func(c rune) bool { return c == ',' || unicode.IsSpace(c) }))
	case "link":
		made, err = s.addLink(r, t, f.Get("days"))
	case "unlink":
		to += "/-/links"
		err = s.endLink(r, t, f.Get("number"))
	default:
		err = fmt.Errorf("%w: there is no such form", repo.ErrNotFound)
	}
	s.note("POST "+r.URL.Path, t.Name(), err == nil)
	if err != nil {
		return err
	}
	if made != "" {
		return s.showLinks(r, t, made)
	}
	http.Redirect(r.w, r.Request, r.base+"/t/"+to, http.StatusSeeOther)
	return nil
}

// setTags gives a session these tags, and takes the others away.
func (s *View) setTags(r *request, t *repo.Tape, tags []string) error {
	facts, err := r.local().space.about(r.Context(), []*repo.Tape{t})
	if err != nil {
		return err
	}
	was := facts[t.Branch()]
	for i := range tags {
		if tags[i], err = about.TagOf(tags[i]); err != nil {
			return err
		}
	}
	gone := slices.DeleteFunc(slices.Clone(was.Tags), func(tag string) bool { return slices.Contains(tags, tag) })
	add := slices.DeleteFunc(tags, func(tag string) bool { return slices.Contains(was.Tags, tag) })
	if len(gone)+len(add) == 0 {
		return nil
	}
	data, err := was.TagData(add, gone)
	if err == nil {
		_, err = t.Append(r.Context(), nil, repo.Event(about.TagEvent, data))
	}
	return err
}
