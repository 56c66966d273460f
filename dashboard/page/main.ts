import { h, render } from 'preact';
import { App } from './app.ts';

const place = document.getElementById('page');
if (place) render(h(App, {}), place);
