package front

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func newFront(t *testing.T, o Options) *Front {
	t.Helper()
	o.Hint = "name it"
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// ask returns a request with headers in pairs; Host and From are not headers.
func ask(method, path string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1:7357"+path, nil)
	r.RemoteAddr = "127.0.0.1:5555"
	for i := 0; i < len(headers); i += 2 {
		switch name, value := headers[i], headers[i+1]; name {
		case "Host":
			r.Host = value
		case "From":
			r.RemoteAddr = value
		default:
			r.Header.Add(name, value)
		}
	}
	return r
}

var proxied = Options{Hosts: []string{"tape.example.org", "Other.example:8443"}, Path: "/sessions/", Proxies: []string{"192.0.2.0/24", "127.0.0.1"}}

// TestAdmit: names of this machine and given names are answered, and pages of other sites are not.
func TestAdmit(t *testing.T) {
	none, near := Options{}, proxied
	near.Near = "name it"
	for _, one := range []struct {
		with Options
		r    *http.Request
		want bool
	}{
		{none, ask("GET", "/"), true},
		{none, ask("GET", "/", "Host", "localhost:7357"), true},
		{none, ask("GET", "/", "Host", "[::1]:7357"), true},
		{none, ask("GET", "/", "Host", "evil.example"), false},
		{none, ask("GET", "/", "Host", "127.0.0.1.evil.example"), false},
		{none, ask("GET", "/", "Host", ""), false},
		{none, ask("GET", "/", "X-Forwarded-Host", "localhost"), true},
		{none, ask("GET", "/", "Host", "evil.example", "X-Forwarded-Host", "localhost"), false}, // nobody is trusted
		{none, ask("POST", "/", "Origin", "http://127.0.0.1:7357"), true},
		{none, ask("POST", "/", "Origin", "http://127.0.0.1:7358"), false},
		{none, ask("POST", "/", "Origin", "http://evil.example"), false},
		{none, ask("GET", "/", "Origin", "http://evil.example"), false},
		{none, ask("POST", "/", "Origin", "null"), false},
		{none, ask("POST", "/", "Sec-Fetch-Site", "same-origin"), true},
		{none, ask("POST", "/", "Sec-Fetch-Site", "cross-site"), false},
		{none, ask("POST", "/", "Sec-Fetch-Site", "same-site"), false},
		{none, ask("GET", "/", "From", "@"), true}, // a unix socket

		// nginx by default, with Host, and with all usual headers
		{proxied, ask("POST", "/", "Origin", "https://tape.example.org"), true},
		{proxied, ask("POST", "/", "Host", "tape.example.org", "Origin", "https://tape.example.org:8443"), true},
		{proxied, ask("POST", "/", "X-Forwarded-Host", "tape.example.org", "X-Forwarded-Proto", "https", "Origin", "https://tape.example.org"), true},
		{proxied, ask("POST", "/", "X-Forwarded-Host", "tape.example.org", "X-Forwarded-Proto", "https", "Origin", "http://tape.example.org"), false},
		{proxied, ask("POST", "/", "X-Forwarded-Host", "tape.example.org", "Origin", "https://evil.example"), false},
		{proxied, ask("GET", "/", "Host", "OTHER.example"), true},
		{proxied, ask("GET", "/", "X-Forwarded-Host", "tape.example.org, evil.example"), false}, // the nearest proxy counts
		{proxied, ask("GET", "/", "From", "198.51.100.1:9", "Host", "evil.example", "X-Forwarded-Host", "tape.example.org"), false},
		{proxied, ask("GET", "/", "From", "198.51.100.1:9"), true},
		{near, ask("GET", "/", "From", "198.51.100.1:9"), false},
		{near, ask("GET", "/", "From", "[::ffff:192.0.2.7]:9", "Host", "tape.example.org"), true},
	} {
		if _, err := newFront(t, one.with).Admit(one.r); (err == nil) != one.want {
			t.Errorf("%s, host %s, from %s, %v: %v, want admitted: %t", one.r.Method, one.r.Host, one.r.RemoteAddr, one.r.Header, err, one.want)
		}
	}
}

// TestCall: host, scheme and client come from the headers of a trusted proxy, and from nobody else.
func TestCall(t *testing.T) {
	f := newFront(t, proxied)
	headers := []string{"X-Forwarded-Host", "tape.example.org:8443", "X-Forwarded-Proto", "https", "X-Forwarded-For", "203.0.113.9, 198.51.100.7", "X-Forwarded-For", "192.0.2.8"}
	for _, one := range []struct {
		from, host string
		want       Call
	}{
		{"192.0.2.1:9", "tape.example.org:8443", Call{Secure: true, Proxy: true, Client: "198.51.100.7"}},
		{"198.51.100.1:9", "127.0.0.1:7357", Call{Client: "198.51.100.1"}},
	} {
		r, err := f.Admit(ask("GET", "/", append(headers, "From", one.from)...))
		if err != nil || r.Host != one.host || Of(r) != one.want {
			t.Errorf("from %s: host %s, %+v, %v; want host %s, %+v", one.from, r.Host, Of(r), err, one.host, one.want)
		}
	}
	r, err := f.Admit(ask("GET", "/", "X-Forwarded-For", "none of your business"))
	if err != nil || Of(r).Client != "127.0.0.1" {
		t.Errorf("an X-Forwarded-For without an address gave %+v, %v; want the proxy's address", Of(r), err)
	}
}

// TestPath: a proxy may leave the path of the public address, or remove it.
func TestPath(t *testing.T) {
	f := newFront(t, proxied)
	for path, want := range map[string]string{"/sessions/t/a%2Fb": "/t/a%2Fb", "/t/a%2Fb": "/t/a%2Fb", "/sessions": "/", "/sessions/": "/", "/sessions?q=1": "/",
		"/sessionsx/y": "/sessionsx/y", "/%73essions/t/a": "/t/a", "/sessions//x": "//x"} {
		r, err := f.Admit(ask("GET", path))
		if err != nil || r.URL.EscapedPath() != want {
			t.Errorf("%s: %s, %v; want %s", path, r.URL.EscapedPath(), err, want)
		}
	}
}

func TestRefusedOptions(t *testing.T) {
	for _, o := range []Options{{Hosts: []string{""}}, {Hosts: []string{"https://tape.example.org"}}, {Proxies: []string{"nginx"}}, {Proxies: []string{"10.0.0.0/99"}}, {Path: "/a b"}, {Path: "/../x"}, {Path: "//x"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
