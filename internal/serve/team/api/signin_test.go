package api_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"tape/internal/serve/team/api"
)

// issuer is a small OpenID Connect issuer, at which everybody is Ada.
type issuer struct {
	*httptest.Server
	t         *testing.T
	key       *rsa.PrivateKey
	challenge string
	claims    map[string]any // added to the claims that it makes itself
}

func newIssuer(t *testing.T) *issuer {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{t: t, key: key, claims: map[string]any{"preferred_username": "ada", "groups": []string{"shop"}}}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.answer(w, map[string]any{"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if r.PostFormValue("code") != "c0de" || base64.RawURLEncoding.EncodeToString(sum[:]) != i.challenge {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		i.answer(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": i.token()})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		i.t.Error(err)
	}
}

func (i *issuer) token() string {
	claims := map[string]any{"iss": i.URL, "aud": "tape", "sub": "4711", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix()}
	maps.Copy(claims, i.claims)
	data, err := json.Marshal(claims)
	if err != nil {
		i.t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: i.key, KeyID: "1"}}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	signed, err := signer.Sign(data)
	if err != nil {
		i.t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

// newOfIssuer returns a browser, with a server that uses an issuer.
func newOfIssuer(t *testing.T, i *issuer) *browser {
	t.Helper()
	settings := "kind = \"oidc\"\nclient = \"tape\"\nissuer = \"" + i.URL + "\"\n"
	return newBrowser(t, newWith(t, settings, func(o *api.Options) { o.OIDC = api.NewLogin(o.Config) }))
}

// begin begins a login, and returns the cookie for it and the address to which the issuer would send the browser.
func (b *browser) begin(i *issuer) (cookie, back string) {
	b.t.Helper()
	w := b.send(http.MethodGet, "/sessions/login?to=%2Fsessions%2Fw%2Fshop%2F", "")
	to, err := url.Parse(w.Header().Get("Location"))
	if err != nil || w.Code != http.StatusFound || !strings.HasPrefix(to.String(), i.URL+"/authorize?") {
		b.t.Fatalf("a login begins with status %d to %s, want 302 to the issuer", w.Code, to)
	}
	q := to.Query()
	if q.Get("redirect_uri") != "https://tape.example.org/sessions/login/callback" || q.Get("code_challenge_method") != "S256" || q.Get("scope") != "openid profile email" {
		b.t.Errorf("the address at the issuer lacks the callback, PKCE or the scopes: %s", to)
	}
	i.challenge, i.claims["nonce"] = q.Get("code_challenge"), q.Get("nonce")
	cookie, _, _ = strings.Cut(w.Header().Get("Set-Cookie"), ";")
	return cookie, "/sessions/login/callback?" + url.Values{"code": {"c0de"}, "state": {q.Get("state")}}.Encode()
}

// TestIssuer: a user logs in at the issuer, reads the remote of the user's group, and makes a token for the
// command line.
func TestIssuer(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	b := newOfIssuer(t, i)
	if w := b.send(http.MethodGet, "/sessions/w/shop/", ""); w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), `href="/sessions/login?to=%2Fsessions%2Fw%2Fshop%2F"`) {
		t.Errorf("without a cookie: status %d, want 401 and a link to log in: %s", w.Code, w.Body)
	}
	cookie, back := b.begin(i)
	b.cookie = cookie
	w := b.send(http.MethodGet, back, "")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "url=/sessions/w/shop/") {
		t.Fatalf("after the login: status %d, want a page that leads to /sessions/w/shop/: %s", w.Code, w.Body)
	}
	for _, c := range w.Result().Cookies() {
		if c.Name == "tape_team" {
			if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode {
				t.Errorf("the cookie is not HttpOnly, Secure and SameSite=Strict: %+v", c)
			}
			b.cookie = c.Name + "=" + c.Value
		}
	}
	if w := b.send(http.MethodGet, "/sessions/", ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Of shop") || strings.Contains(w.Body.String(), "bank") {
		t.Errorf("logged in: status %d, want the sessions of shop alone: %s", w.Code, w.Body)
	}
	if w := b.send(http.MethodGet, "/sessions/token", ""); !strings.Contains(w.Body.String(), `action="/sessions/token"`) {
		t.Errorf("the page for a token has no form: status %d: %s", w.Code, w.Body)
	}
	if w := b.send(http.MethodPost, "/sessions/token", "x=1"); !strings.Contains(w.Body.String(), "tape login https://tape.example.org/sessions --token-stdin\nt-ada") {
		t.Errorf("the page does not show the command and the token: status %d: %s", w.Code, w.Body)
	}
	if got := strings.Join(b.store.audit, ", "); !strings.Contains(got, "made ada-20261120-103000 for shop") {
		t.Errorf("no token was made for ada and shop: %s", got)
	}
	if w := b.send(http.MethodPost, "/sessions/token", "x=1", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }); w.Code != http.StatusForbidden {
		t.Errorf("another site makes a token: status %d, want 403", w.Code)
	}
	if w := b.send(http.MethodPost, "/sessions/token", "x=1", func(r *http.Request) { r.Header.Del("Cookie"); r.Header.Set("Authorization", "Bearer t-ada") }); w.Code != http.StatusForbidden {
		t.Errorf("a token makes a token: status %d, want 403", w.Code)
	}
	if w := b.send(http.MethodPost, "/sessions/logout", "x=1"); w.Code != http.StatusOK {
		t.Errorf("logout: status %d", w.Code)
	}
	if w := b.send(http.MethodGet, "/sessions/", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("a copy of the cookie after logging out: status %d, want 401", w.Code)
	}
	b.cookie = strings.Replace(b.cookie, "=", "=A", 1)
	if w := b.send(http.MethodGet, "/sessions/", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("a forged cookie: status %d, want 401", w.Code)
	}
}

// TestIssuerRefuses: a login of another browser, another nonce, another audience and an expired token are refused.
func TestIssuerRefuses(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	b := newOfIssuer(t, i)
	refused := func(what, back string) {
		t.Helper()
		w := b.send(http.MethodGet, back, "")
		if w.Code == http.StatusOK || !strings.Contains(w.Body.String(), "Try again") {
			t.Errorf("%s: status %d, want that the login is refused: %s", what, w.Code, w.Body)
		}
		for _, c := range w.Result().Cookies() {
			if c.Name == "tape_team" {
				t.Errorf("%s: the browser gets a cookie", what)
			}
		}
	}
	_, back := b.begin(i)
	refused("without its cookie", back)
	b.cookie, _ = b.begin(i)
	refused("another state", "/sessions/login/callback?code=c0de&state=x")
	b.cookie, back = b.begin(i)
	i.claims["nonce"] = "other"
	refused("another nonce", back)
	for name, value := range map[string]any{"azp": "else", "aud": "else", "exp": time.Now().Add(-time.Hour).Unix(), "iss": "https://evil.example", "groups": 7} {
		b.cookie, back = b.begin(i)
		was, had := i.claims[name]
		i.claims[name] = value
		refused(name, back)
		if delete(i.claims, name); had {
			i.claims[name] = was
		}
	}
	b.cookie, back = b.begin(i)
	i.challenge = "other"
	refused("another verifier", back)
	b.cookie, _ = b.begin(i)
	refused("refused by the issuer", "/sessions/login/callback?error=access_denied&state=x")
	i.Close()
	b = newOfIssuer(t, i)
	refused("no issuer", "/sessions/login")
}
