"use strict";

/** Keep what is shown in the page's address, so that the link can be shared. */
function rememberAddress(fragment) {
  try {
    history.replaceState(null, "", fragment);
  } catch {
    // a page in a sandbox keeps its address
  }
}
