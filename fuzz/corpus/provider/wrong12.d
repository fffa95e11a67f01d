provider my app { probe a(); };
