package api

import (
	"net/http"
	"strings"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"
	"tape/internal/serve/team/config"
)

// LoginOf returns how users without a token log in, by team.toml; nil if they cannot.
func LoginOf(c *config.Config) Login {
	if c.Auth.Kind == config.Proxy {
		return proxyLogin{c}
	}
	return nil
}

// proxyLogin believes what a trusted proxy says about the user.
type proxyLogin struct{ *config.Config }

// User reads the proxy's headers. From anybody else they are refused.
func (p proxyLogin) User(r *http.Request) (User, bool, error) {
	name, groups := r.Header.Get(p.Auth.UserHeader), r.Header.Values(p.Auth.GroupsHeader)
	if name == "" && len(groups) == 0 {
		return User{}, false, nil
	}
	if !front.Of(r).Proxy {
		return User{}, false, api.Unauthorized("headers about users count from a trusted proxy alone: send a token")
	}
	if name == "" {
		return User{}, false, api.Unauthorized("the proxy does not say who the user is: it has to set " + p.Auth.UserHeader)
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
