package api

import (
	"net/http"
	"strings"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"
)

// proxyUser returns the user that a trusted proxy names in its headers, or false if there are no such headers. It
// refuses them from anybody else.
func (s *Server) proxyUser(r *http.Request) (User, bool, error) {
	name, groups := r.Header.Get(s.Config.Auth.UserHeader), r.Header.Values(s.Config.Auth.GroupsHeader)
	if name == "" && len(groups) == 0 {
		return User{}, false, nil
	}
	if !front.Of(r).Proxy {
		return User{}, false, api.Unauthorized("only a trusted proxy may name a user in headers: send a token")
	}
	if name == "" {
		return User{}, false, api.Unauthorized("the proxy does not say who the user is: it has to set " + s.Config.Auth.UserHeader)
	}
	u := User{Name: name}
	for _, list := range groups {
		for _, g := range strings.Split(list, ",") {
			if g = strings.TrimSpace(g); g != "" {
				u.Groups = append(u.Groups, g)
			}
		}
	}
	return u, true, nil
}
