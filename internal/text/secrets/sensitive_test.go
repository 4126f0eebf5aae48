package secrets

import (
	"strings"
	"testing"
)

func TestSensitiveName(t *testing.T) {
	for _, name := range strings.Fields(`GITHUB_TOKEN GH_TOKEN GITHUB_PAT AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
		AWS_CONTAINER_CREDENTIALS_RELATIVE_URI GOOGLE_APPLICATION_CREDENTIALS AZURE_STORAGE_KEY AZURE_CLIENT_SECRET OPENAI_API_KEY openai_api_key
		TAPE_TELEGRAM_TOKEN NPM_CONFIG__AUTHTOKEN npm_config_//registry.npmjs.org/:_authToken PGPASSWORD MYSQL_PWD DB_PASS SSHPASS DOCKER_AUTH_CONFIG
		INPUT_TOKEN db.password apiKey APIKey accessToken clientSecret API_KEY_2 API_KEY2 apikey secrets credentials token tokens key KEY auth`) {
		if !SensitiveName(name) {
			t.Errorf("%s should be sensitive", name)
		}
	}
	for _, name := range strings.Fields(`max_tokens maxTokens MAX_TOKENS prompt_tokens token_limit max_token tokenizer TOKENIZERS_PARALLELISM keyboard KEYBOARD
		monkey KEYMAP GNOME_KEYRING_CONTROL SSH_AUTH_SOCK SSH_ASKPASS GIT_ASKPASS GIT_AUTHOR_NAME XAUTHORITY PATH PWD OLDPWD PASSWORD_FILE COMPASS
		public_key primary_key next_page_token page_token HOME TERM secretary AUTHOR passenger 42 _ model`) {
		if SensitiveName(name) {
			t.Errorf("%s should not be sensitive", name)
		}
	}
}

func TestSensitiveValue(t *testing.T) {
	s := New()
	for _, value := range []string{
		"postgres://app:pw@db/shop", "postgres://postgres:postgres@localhost:5432/postgres", "redis://:abc@cache", "http://me:it@proxy:3128",
		"see https://example.org and mysql://root:x1@h/y", "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
		`{"auth": {"url": "amqp://u:p4ssw@mq"}}`, "Authorization: Bearer " + "k3J9dm28dhQ0zPq71LmXv5Ru",
	} {
		if !s.SensitiveValue(value) {
			t.Errorf("%q should be sensitive", value)
		}
	}
	for _, value := range []string{
		"", "4096", "https://example.org/a:b@c", "http://127.0.0.1:8080/v1", "ssh://git@github.com/a/b", "git@github.com:a/b.git",
		"/run/user/1000/keyring/ssh", "en_US.UTF-8", "the token is in the file", "://",
	} {
		if s.SensitiveValue(value) {
			t.Errorf("%q should not be sensitive", value)
		}
	}
}
